package agent

import (
	"bytes"
	"context"
	"fmt"
	"io"
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

	"open-cluster-management.io/helloworld-addon/pkg/agent/internal/fakeapi"
)

// free returns a loopback address that nothing listens on.
func free(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// kubeconfigFile is for a server without authentication.
func kubeconfigFile(t *testing.T, server string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	content := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
		"clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"u","user":{}}],
		"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}]}`, server)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func newAPI(t *testing.T) *fakeapi.Server {
	t.Helper()
	api := fakeapi.New()
	api.Start()
	t.Cleanup(api.Close)
	return api
}

// start runs the command; its error is sent when it has ended.
func start(t *testing.T, args ...string) (stop context.CancelFunc, ended chan error) {
	t.Helper()
	command := NewCommand()
	command.SetArgs(args)
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	ended = make(chan error, 1)
	go func() { ended <- command.ExecuteContext(ctx) }()
	return stop, ended
}

func get(url string) (int, string) {
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(body)
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 15 s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestRunCopiesRenewsAndServes(t *testing.T) {
	hub, managed := newAPI(t), newAPI(t)
	hub.Put("managedclusteraddons", enabled())
	hub.Put("configmaps", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "cluster1"}})
	health, metrics := free(t), free(t)
	stop, ended := start(t, "--cluster-name=cluster1", "--namespace=default",
		"--kubeconfig="+kubeconfigFile(t, managed.Config().Host), "--hub-kubeconfig="+kubeconfigFile(t, hub.Config().Host),
		"--health-bind-address="+health, "--metrics-bind-address="+metrics)
	eventually(t, "copy and lease", func() bool {
		return managed.Get("configmaps", "default", "a") != nil && managed.Get("leases", "default", "helloworld") != nil
	})
	eventually(t, "ready", func() bool { code, _ := get("http://" + health + "/readyz"); return code == http.StatusOK })
	if code, body := get("http://" + health + "/healthz"); code != http.StatusOK {
		t.Errorf("healthz: %d %s", code, body)
	}
	if code, body := get("http://" + metrics + "/metrics"); code != http.StatusOK ||
		!strings.Contains(body, "helloworld_agent_build_info{") || !strings.Contains(body, "process_resident_memory_bytes") {
		t.Errorf("metrics: %d %s", code, body)
	}
	if code, _ := get("http://" + metrics + "/debug/pprof/"); code != http.StatusNotFound {
		t.Errorf("profiles are served: %d", code)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("run: %v", err)
	}
}

// enabled is the add-on of the tests' cluster.
func enabled() *addonv1alpha1.ManagedClusterAddOn {
	return &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Name: "helloworld", Namespace: "cluster1"}}
}

func TestRunWaitsForTheSecret(t *testing.T) {
	managed, health := newAPI(t), free(t)
	stop, ended := start(t, "--cluster-name=cluster1", "--namespace=default", "--metrics-bind-address=0",
		"--kubeconfig="+kubeconfigFile(t, managed.Config().Host), "--health-bind-address="+health)
	eventually(t, "says what it waits for", func() bool {
		code, body := get("http://" + health + "/readyz")
		return code == http.StatusServiceUnavailable &&
			strings.Contains(body, "[-] hub-credentials: secret default/helloworld-hub-kubeconfig: SecretMissing") &&
			strings.Contains(body, "[-] mirror: ")
	})
	if code, _ := get("http://" + health + "/healthz"); code != http.StatusOK {
		t.Errorf("not alive while it waits: %d", code)
	}
	if managed.Get("leases", "default", "helloworld") != nil {
		t.Error("renews the lease without a hub")
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("run: %v", err)
	}
}

func TestWrongUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	garbage := filepath.Join(t.TempDir(), "garbage")
	if err := os.WriteFile(garbage, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := kubeconfigFile(t, "http://127.0.0.1:1")
	names := []string{"--cluster-name=c", "--namespace=d"}
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no flags", nil, "--cluster-name is required"},
		{"unknown flag", []string{"--no-such-flag"}, "unknown flag: --no-such-flag; see helloworld-agent --help"},
		{"an argument", []string{"argument"}, `"argument"`},
		{"not in a pod", names, "by --kubeconfig"},
		{"missing kubeconfig", append(names, "--kubeconfig=/no/such/file"), "--kubeconfig: read kubeconfig /no/such/file"},
		{"kubeconfig is garbage", append(names, "--kubeconfig="+garbage), "--kubeconfig: read kubeconfig " + garbage},
		{"a pod's name alone", append(names, "--kubeconfig="+good, "--pod-name=p"), `--pod-name "p": it goes with --pod-uid`},
		{"health address taken", append(names, "--kubeconfig="+good, "--health-bind-address="+taken.Addr().String()), "listen on --health-bind-address"},
		{"metrics address taken", append(names, "--kubeconfig="+good, "--health-bind-address=127.0.0.1:0",
			"--metrics-bind-address="+taken.Addr().String()), "listen on --metrics-bind-address"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, ended := start(t, test.args...)
			select {
			case err := <-ended:
				if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("got %q, want one line with %q", err, test.want)
				}
			case <-time.After(10 * time.Second):
				t.Error("did not end")
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
