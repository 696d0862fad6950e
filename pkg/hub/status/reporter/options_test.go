package reporter

import (
	"strings"
	"testing"
)

// TestValidateReportsEverything: all problems at once, each naming the flag.
func TestValidateReportsEverything(t *testing.T) {
	o := newOptions(func(string) string { return "" })
	o.LeafHubName, o.Interval, o.Heartbeat, o.Resync, o.KubeAPIQPS, o.KubeAPIBurst = "Hub_1", 0, 0, 0, 0, 0
	o.WatchNamespaces = []string{"No"}
	err := o.Validate()
	if err == nil {
		t.Fatal("nothing is wrong with it")
	}
	for _, want := range []string{"$DATABASE_URL", "--leaf-hub-name=\"Hub_1\"", "$WATCH_NAMESPACE", "$POD_NAMESPACE",
		"--report-interval", "--heartbeat-interval", "--resync-period", "--kube-api-qps", "--kube-api-burst"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not reported: %v", want, err)
		}
	}
}

func TestEnvironment(t *testing.T) {
	env := map[string]string{"DATABASE_URL": "postgres://u:p@h/d", "LEAF_HUB_NAME": "hub1", "POD_NAMESPACE": "ns", "WATCH_NAMESPACE": " a, b,"}
	o := newOptions(func(name string) string { return env[name] })
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	if got := strings.Join(o.WatchNamespaces, "+"); got != "a+b" {
		t.Errorf("namespaces %s", got)
	}
}
