package reporter

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	logsapi "k8s.io/component-base/logs/api/v1"

	"open-cluster-management.io/helloworld-addon/pkg/hub/status/internal/program"
)

// TestWrongUse: each mistake is one clear message that names what was given and
// says what to do.
func TestWrongUse(t *testing.T) {
	t.Setenv(program.EnvDatabaseURL, "postgres://u:p@h/d")
	t.Setenv(program.EnvPodNamespace, "ns")
	t.Setenv(envLeafHubName, "leaf")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	refused := errors.New("refused")
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(`{"clusters":[{"name":"c","cluster":{"server":"http://127.0.0.1:1"}}],
		"contexts":[{"name":"c","context":{"cluster":"c"}}],"current-context":"c"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"an argument", []string{"report"}, `unexpected arguments ["report"]: only flags are taken, see hub-of-hubs-status-report --help`},
		{"an unknown flag", []string{"--no-such-flag"}, "unknown flag: --no-such-flag: see hub-of-hubs-status-report --help"},
		{"an invalid value", []string{"--heartbeat-interval=0"}, "--heartbeat-interval=0s must be 1s or more"},
		{"not in a pod", nil, "there is no --kubeconfig, and this is no pod of the leaf hub: name a kubeconfig file: "},
		{"no such kubeconfig", []string{"--kubeconfig=/no/such/file"}, "read --kubeconfig=/no/such/file: "},
		{"a database that cannot be opened", []string{"--kubeconfig=" + kubeconfig}, "open the database of $DATABASE_URL: refused"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := logsapi.ResetForTest(nil); err != nil {
				t.Fatal(err)
			}
			command := NewCommand(func(context.Context, string) (Store, error) { return nil, refused })
			command.SetArgs(test.args)
			err := command.ExecuteContext(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, test.want)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	command := NewCommand(nil)
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetArgs([]string{"--version"})
	if err := command.ExecuteContext(t.Context()); err != nil || !strings.HasPrefix(out.String(), Program+" version v") || !strings.Contains(out.String(), "commit") {
		t.Errorf("%q, %v", out.String(), err)
	}
}
