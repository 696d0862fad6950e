package agent

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
)

// Addresses for documentation (RFC 5737). Loopback addresses are never reached through a
// proxy.
const (
	proxiedHub     = "192.0.2.1:6443"
	proxiedManaged = "192.0.2.2:6443"
)

// proxy refuses every connection, and remembers where it was to go.
type proxy struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	p := &proxy{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.seen = append(p.seen, r.Host)
		p.mu.Unlock()
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *proxy) asked(host string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.seen, host)
}

// TestProxyOfTheEnvironmentIsTheHubs runs an agent in a process of its own, since
// Go reads the proxy's variables once.
func TestProxyOfTheEnvironmentIsTheHubs(t *testing.T) {
	const child = "TEST_AGENT_ARGS_DIR"
	if dir := os.Getenv(child); dir != "" {
		start(t, "--cluster-name=cluster1", "--namespace=default", "--kubeconfig="+filepath.Join(dir, "managed"),
			"--hub-kubeconfig="+filepath.Join(dir, "hub"), "--health-bind-address=127.0.0.1:0", "--metrics-bind-address=0")
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent has seen enough
		return
	}
	tests := []struct {
		name     string
		explicit bool
	}{
		{"the environment's is not for the managed cluster", false},
		{"that of the managed cluster's kubeconfig is", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			hubs, managed, dir := newProxy(t), newProxy(t), t.TempDir()
			writeKubeconfig(t, filepath.Join(dir, "hub"), proxiedHub, "")
			proxyURL := ""
			if test.explicit {
				proxyURL = managed.URL
			}
			writeKubeconfig(t, filepath.Join(dir, "managed"), proxiedManaged, proxyURL)
			agent := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxyOfTheEnvironmentIsTheHubs$", "-test.count=1")
			agent.Env = append(os.Environ(), child+"="+dir, "HTTPS_PROXY="+hubs.URL, "NO_PROXY=")
			stdin, err := agent.StdinPipe()
			if err == nil {
				err = agent.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			runtest.Eventually(t, "the hub is asked for at the environment's proxy", func() bool { return hubs.asked(proxiedHub) })
			if test.explicit {
				runtest.Eventually(t, "the managed cluster is asked for at its own", func() bool { return managed.asked(proxiedManaged) })
			}
			time.Sleep(time.Second) // both are asked for at once: something that must not happen
			if err := errors.Join(stdin.Close(), agent.Wait()); err != nil {
				t.Error(err)
			}
			if hubs.asked(proxiedManaged) {
				t.Error("the managed cluster is asked for at the environment's proxy")
			}
		})
	}
}

// writeKubeconfig writes a kubeconfig.
func writeKubeconfig(t *testing.T, file, server, proxyURL string) {
	t.Helper()
	content := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
		"clusters":[{"name":"c","cluster":{"server":"https://%s","proxy-url":%q,"insecure-skip-tls-verify":true}}],
		"users":[{"name":"u","user":{"token":"t"}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}]}`, server, proxyURL)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
