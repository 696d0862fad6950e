package syncer

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/runtest"
)

// TestOriginalFlags checks the arguments of the original's deployment, as users changed them.
func TestOriginalFlags(t *testing.T) {
	for _, test := range []struct {
		name    string
		args    []string
		v       logsapi.VerbosityLevel
		ignored []string
	}{
		{name: "none"},
		{"the original's manifest", []string{"--zap-devel=true"}, 0, []string{"--zap-devel"}},
		{"a flag without a value", []string{"--zap-devel", "--zap-sample"}, 0, []string{"--zap-devel", "--zap-sample"}},
		{"every other flag", []string{"--zap-encoder=json", "--zap-time-encoding", "iso8601", "--zap-stacktrace-level=error", "--master=https://hub"}, 0,
			[]string{"--master", "--zap-encoder", "--zap-stacktrace-level", "--zap-time-encoding"}},
		{"the level debug has an effect", []string{"--zap-level=debug"}, 2, nil},
		{"so has a number", []string{"--zap-log-level", "4"}, 4, nil},
		{"the level info is the default", []string{"--zap-level=info"}, 0, []string{"--zap-level"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			opts, flags := newOptions(func(string) string { return "" }), pflag.NewFlagSet("", pflag.ContinueOnError)
			opts.AddFlags(flags)
			if err := flags.Parse(test.args); err != nil {
				t.Fatal(err)
			}
			slices.Sort(opts.ignored)
			if diff := cmp.Diff(test.ignored, opts.ignored); diff != "" || opts.Logging.Verbosity != test.v {
				t.Errorf("-v=%d, want %d; ignored (-want +got):\n%s", opts.Logging.Verbosity, test.v, diff)
			}
		})
	}
}

// TestOriginalFlagsInHelp: users of the original need them, and no one else.
func TestOriginalFlagsInHelp(t *testing.T) {
	command := NewCommand(nil, nil, nil)
	var help bytes.Buffer
	command.SetOut(&help)
	command.SetArgs([]string{"--help"})
	if err := command.ExecuteContext(t.Context()); err != nil || strings.Contains(help.String(), "zap") {
		t.Errorf("%v\n%s", err, help.String())
	}
}

// TestIgnoredFlagsAreLogged: one line names all of them.
func TestIgnoredFlagsAreLogged(t *testing.T) {
	runtest.NoHub(t)
	opts := newOptions(func(string) string { return "" })
	opts.ignored = []string{"--zap-devel", "--zap-encoder"}
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	err := Run(klog.NewContext(t.Context(), logger), opts, func(context.Context, string, string) (Store, error) { return nil, errors.New("not reached") })
	if err == nil {
		t.Fatal("it found a hub")
	}
	logged := logger.GetSink().(ktesting.Underlier).GetBuffer().String()
	if want := `Ignored flags of the original hub-of-hubs-status-sync flags=["--zap-devel","--zap-encoder"]`; strings.Count(logged, want) != 1 {
		t.Errorf("want one line %q:\n%s", want, logged)
	}
}
