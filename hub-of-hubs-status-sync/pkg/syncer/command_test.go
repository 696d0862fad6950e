package syncer

import (
	"context"
	"errors"
	"strings"
	"testing"

	logsapi "k8s.io/component-base/logs/api/v1"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/program"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/runtest"
)

// TestWrongUse: the options, the frame and the command line are this program's.
func TestWrongUse(t *testing.T) {
	t.Setenv(program.EnvDatabaseURL, "postgres://u:p@h/d")
	t.Setenv(program.EnvPodNamespace, "ns")
	runtest.NoHub(t)
	refused := errors.New("refused")
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"an invalid value", []string{"--workers=0"}, "--workers=0 must be from 1 to 100"},
		{"not in a pod", nil, "no configuration of the global hub: not running in a pod, so give a kubeconfig file by --kubeconfig or $KUBECONFIG"},
		{"an argument of migrate", []string{"migrate", "now"}, `unknown command "now" for "hub-of-hubs-status-sync migrate"`},
		{"migrations that fail", []string{"migrate"}, "refused"},
		{"an argument of unmigrate", []string{"unmigrate", "now"}, `unknown command "now" for "hub-of-hubs-status-sync unmigrate"`},
		{"migrations that stay", []string{"unmigrate"}, "not removed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := logsapi.ResetForTest(nil); err != nil {
				t.Fatal(err)
			}
			command := NewCommand(
				func(context.Context, string, string) (Store, error) { return nil, refused },
				func(context.Context, string) error { return refused },
				func(context.Context, string) error { return errors.New("not removed") })
			command.SetArgs(test.args)
			err := command.ExecuteContext(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, test.want)
			}
		})
	}
}
