package syncer

import (
	"strings"
	"testing"
	"time"
)

// TestValidateReportsEverything: all problems at once, each naming the flag, and
// never the password.
func TestValidateReportsEverything(t *testing.T) {
	o := newOptions(func(name string) string {
		return map[string]string{"HOH_STATUS_SYNC_INTERVAL": "5", "WATCH_NAMESPACE": "No"}[name]
	})
	o.ScanPeriod, o.StaleAfter, o.Workers, o.KubeAPIQPS, o.KubeAPIBurst = 0, 0, 0, 0, 0
	err := o.Validate()
	if err == nil {
		t.Fatal("nothing is wrong with it")
	}
	for _, want := range []string{"$DATABASE_URL", "$WATCH_NAMESPACE", "$POD_NAMESPACE", `--sync-interval="5"`, "--scan-period", "--stale-after",
		"--workers", "--kube-api-qps", "--kube-api-burst"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not reported: %v", want, err)
		}
	}
}

func TestEnvironment(t *testing.T) {
	env := map[string]string{"DATABASE_URL": "postgres://u:p@h/d", "POD_NAMESPACE": "ns", "WATCH_NAMESPACE": "", "HOH_STATUS_SYNC_INTERVAL": "7s"}
	o := newOptions(func(name string) string { return env[name] })
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	if o.interval != 7*time.Second || len(o.WatchNamespaces) != 0 || o.onlyNamespace() != "" {
		t.Errorf("interval %s, namespaces %v", o.interval, o.WatchNamespaces)
	}
}
