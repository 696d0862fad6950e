package reporter

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
	t.Setenv(envLeafHubName, "leaf")
	runtest.NoHub(t)
	refused := errors.New("refused")
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"an invalid value", []string{"--heartbeat-interval=0"}, "--heartbeat-interval=0s must be 1s or more"},
		{"not in a pod", nil, "no configuration of the leaf hub: not running in a pod, so give a kubeconfig file by --kubeconfig or $KUBECONFIG"},
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
