package agent

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"

	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
)

// start runs the command until stop is called or the test ends.
func start(t *testing.T, args ...string) (stop func()) {
	t.Helper()
	command := NewCommand()
	command.SetArgs(args)
	return runtest.Start(t, command.ExecuteContext)
}

func TestRunCopiesRenewsAndServes(t *testing.T) {
	hub, managed := runtest.NewAPI(t), runtest.NewAPI(t)
	hub.Put("managedclusteraddons", enabled())
	hub.Put("configmaps", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "cluster1"}})
	health, metrics := runtest.Address(t), runtest.Address(t)
	stop := start(t, "--cluster-name=cluster1", "--namespace=default",
		"--kubeconfig="+runtest.Kubeconfig(t, managed), "--hub-kubeconfig="+runtest.Kubeconfig(t, hub),
		"--health-bind-address="+health, "--metrics-bind-address="+metrics)
	runtest.Eventually(t, "copy and lease", func() bool {
		return managed.Get("configmaps", "default", "a") != nil && managed.Get("leases", "default", "helloworld") != nil
	})
	runtest.Eventually(t, "ready", func() bool { code, _ := runtest.Get(health, "/readyz"); return code == http.StatusOK })
	if _, body := runtest.Get(health, "/readyz"); body != "[+] hub-credentials: ok\n[+] hub: ok\n[+] mirror: ok\n" {
		t.Errorf("readyz: %q", body)
	}
	if code, body := runtest.Get(metrics, "/readyz"); code != http.StatusOK || !strings.Contains(body, hub.Config().Host) {
		t.Errorf("readyz with details: %d %q", code, body)
	}
	if code, body := runtest.Get(health, "/healthz"); code != http.StatusOK {
		t.Errorf("healthz: %d %s", code, body)
	}
	if code, body := runtest.Get(metrics, "/metrics"); code != http.StatusOK ||
		!strings.Contains(body, "helloworld_agent_build_info{") || !strings.Contains(body, "process_resident_memory_bytes") {
		t.Errorf("metrics: %d %s", code, body)
	}
	if code, _ := runtest.Get(metrics, "/debug/pprof/"); code != http.StatusNotFound {
		t.Errorf("profiles are served: %d", code)
	}
	stop()
}

// enabled is the add-on of the tests' cluster.
func enabled() *addonv1alpha1.ManagedClusterAddOn {
	return &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Name: "helloworld", Namespace: "cluster1"}}
}

// TestRunWaitsForTheSecret: what it waits for is readable on the loopback address;
// the network learns the names of the checks alone.
func TestRunWaitsForTheSecret(t *testing.T) {
	managed, health, metrics := runtest.NewAPI(t), runtest.Address(t), runtest.Address(t)
	stop := start(t, "--cluster-name=cluster1", "--namespace=default", "--metrics-bind-address="+metrics,
		"--kubeconfig="+runtest.Kubeconfig(t, managed), "--health-bind-address="+health)
	runtest.Eventually(t, "says what it waits for", func() bool {
		code, body := runtest.Get(metrics, "/readyz")
		return code == http.StatusServiceUnavailable &&
			strings.Contains(body, "[-] hub-credentials: secret default/helloworld-hub-kubeconfig: SecretMissing") &&
			strings.Contains(body, "[-] mirror: ")
	})
	const want = "[-] hub-credentials: not ok\n[+] hub: ok\n[-] mirror: not ok\n"
	if code, body := runtest.Get(health, "/readyz"); code != http.StatusServiceUnavailable || body != want {
		t.Errorf("the network gets %d %q, want %q", code, body, want)
	}
	if code, _ := runtest.Get(health, "/healthz"); code != http.StatusOK {
		t.Errorf("not alive while it waits: %d", code)
	}
	if managed.Get("leases", "default", "helloworld") != nil {
		t.Error("renews the lease without a hub")
	}
	stop()
}

func TestWrongUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	runtest.NoCluster(t)
	garbage := filepath.Join(t.TempDir(), "garbage")
	if err := os.WriteFile(garbage, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := runtest.Kubeconfig(t, runtest.NewAPI(t))
	names := []string{"--cluster-name=c", "--namespace=d"}
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no flags", nil, "--cluster-name is required"},
		{"unknown flag", []string{"--no-such-flag"}, "unknown flag: --no-such-flag; see helloworld-agent --help"},
		{"an argument", []string{"argument"}, `"argument"`},
		{"not in a pod", names, "by --kubeconfig or $KUBECONFIG"},
		{"missing kubeconfig", append(names, "--kubeconfig=/no/such/file"), "read --kubeconfig=/no/such/file: "},
		{"kubeconfig is garbage", append(names, "--kubeconfig="+garbage), "read --kubeconfig=" + garbage},
		{"a pod's name alone", append(names, "--kubeconfig="+good, "--pod-name=p"), `--pod-name "p": it needs --pod-uid`},
		{"health address taken", append(names, "--kubeconfig="+good, "--health-bind-address="+taken.Addr().String()), "listen on --health-bind-address"},
		{"metrics address taken", append(names, "--kubeconfig="+good, "--health-bind-address=127.0.0.1:0",
			"--metrics-bind-address="+taken.Addr().String()), "listen on --metrics-bind-address"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			// One that runs all the same ends with this, without an error.
			ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
			defer stop()
			command := NewCommand()
			command.SetArgs(test.args)
			err := command.ExecuteContext(ctx)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, test.want)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	command := NewCommand()
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetArgs([]string{"--version"})
	if err := command.Execute(); err != nil || !strings.HasPrefix(out.String(), "helloworld-agent version v") ||
		!strings.Contains(out.String(), "commit") {
		t.Errorf("%q, %v", out.String(), err)
	}
}
