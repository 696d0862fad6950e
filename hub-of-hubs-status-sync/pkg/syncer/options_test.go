package syncer

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/runtest"
)

// TestValidateReportsEverything: all problems at once, each naming the flag, and
// never the password.
func TestValidateReportsEverything(t *testing.T) {
	o := newOptions(func(name string) string {
		return map[string]string{"HOH_STATUS_SYNC_INTERVAL": "5", "WATCH_NAMESPACE": "No"}[name]
	})
	o.ScanPeriod, o.StaleAfter, o.Workers, o.KubeAPIQPS, o.KubeAPIBurst = 0, 0, 0, 0, 0
	o.Logging.Format = "xml"
	err := o.Validate()
	if err == nil {
		t.Fatal("nothing is wrong with it")
	}
	got := strings.Split(err.Error(), "\n")
	slices.Sort(got)
	if diff := cmp.Diff([]string{
		"$DATABASE_URL is missing: set it to postgres://user:password@host:5432/db?sslmode=verify-full, with the password URL-escaped",
		"$POD_NAMESPACE is missing: set it to the program's own namespace, which holds its Lease, or use --leader-elect=false",
		`$WATCH_NAMESPACE: "No" is not a valid namespace name: ` + strings.Join(validation.IsDNS1123Label("No"), "; "),
		"--kube-api-burst=0 must be 1 or more",
		"--kube-api-qps=0 must be above 0",
		"--scan-period=0s must be 1m or more",
		"--stale-after=0s must be 10s or more",
		`--sync-interval="5" (or $HOH_STATUS_SYNC_INTERVAL) must be a duration of 100ms or more, for example 5s`,
		"--workers=0 must be from 1 to 100",
		`logging.format: Invalid value: "xml": Unsupported log format`,
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
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

// TestFlags: names, defaults and texts are what users know. The flags of the
// logs are Kubernetes' own.
func TestFlags(t *testing.T) {
	got := runtest.Flags(t, newOptions(func(string) string { return "" }).AddFlags)
	if diff := cmp.Diff([]string{
		"--health-probe-bind-address=:8081 the address of /healthz and /readyz; 0 disables them",
		"--kube-api-burst=1000 the maximum burst of requests to the global hub",
		"--kube-api-qps=500 the maximum number of requests per second to the global hub",
		"--kubeconfig= a kubeconfig file for the global hub; empty means $KUBECONFIG, the cluster in which the program runs, or ~/.kube/config",
		"--leader-elect=true write only while holding the lock hub-of-hubs-status-sync-lock in $POD_NAMESPACE",
		"--metrics-bind-address=:8384 the address of the metrics endpoint; 0 disables it",
		"--metrics-cert-dir= a directory with tls.crt and tls.key, to serve metrics with; empty means a self-signed certificate, which clients cannot verify",
		"--metrics-secure=true serve metrics by HTTPS, to clients that the global hub authorizes to get /metrics",
		"--scan-period=1h0m0s the time in which every object is synced once, even if nothing changed",
		"--stale-after=5m0s how long after its last heartbeat a leaf hub is stale, and the good states that it reported no longer count: this, or three of the intervals that its writer states, whichever is longer; a leaf hub whose writer states none is never stale",
		"--sync-interval=5s how often to poll the database without a notification (default: $HOH_STATUS_SYNC_INTERVAL, or 5s)",
		"--workers=4 the number of concurrent syncs of each kind",
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
