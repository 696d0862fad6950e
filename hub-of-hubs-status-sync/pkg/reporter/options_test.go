package reporter

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/runtest"
)

// TestValidateReportsEverything: all problems at once, each naming the flag.
func TestValidateReportsEverything(t *testing.T) {
	o := newOptions(func(string) string { return "" })
	o.LeafHubName, o.Interval, o.Heartbeat, o.Resync, o.KubeAPIQPS, o.KubeAPIBurst = "Hub_1", 0, 0, 0, 0, 0
	o.WatchNamespaces = []string{"No"}
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
		"--heartbeat-interval=0s must be 1s or more, for example 10s",
		"--kube-api-burst=0 must be 1 or more",
		"--kube-api-qps=0 must be above 0",
		`--leaf-hub-name="Hub_1" is not valid: ` + strings.Join(validation.IsDNS1123Label("Hub_1"), "; "),
		"--report-interval=0s must be 1ms or more, for example 200ms",
		"--resync-period=0s must be 1m or more, for example 1h",
		`logging.format: Invalid value: "xml": Unsupported log format`,
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
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

// TestFlags: names, defaults and texts are what users know. The flags of the
// logs are Kubernetes' own.
func TestFlags(t *testing.T) {
	got := runtest.Flags(t, newOptions(func(string) string { return "" }).AddFlags)
	if diff := cmp.Diff([]string{
		"--health-probe-bind-address=:8081 the address of /healthz and /readyz; 0 disables them",
		"--heartbeat-interval=10s the interval of heartbeats",
		"--kube-api-burst=200 the maximum burst of requests to the leaf hub",
		"--kube-api-qps=100 the maximum number of requests per second to the leaf hub",
		"--kubeconfig= a kubeconfig file for the leaf hub; empty means $KUBECONFIG, the cluster in which the program runs, or ~/.kube/config",
		"--leader-elect=true report only while holding the lock hub-of-hubs-status-report-lock in $POD_NAMESPACE",
		"--leaf-hub-name= the name of this leaf hub on the global hub (default: $LEAF_HUB_NAME)",
		"--metrics-bind-address=:8385 the address of the metrics endpoint; 0 disables it",
		"--metrics-cert-dir= a directory with tls.crt and tls.key, to serve metrics with; empty means a self-signed certificate, which clients cannot verify",
		"--metrics-secure=true serve metrics by HTTPS, to clients that the leaf hub authorizes to get /metrics",
		"--report-interval=200ms the minimum time between two batches; several changes of an object in between are written once",
		"--resync-period=1h0m0s how often to compare the whole database with the leaf hub",
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
