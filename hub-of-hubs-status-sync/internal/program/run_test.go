package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/runtest"
)

// store is a database that is away or well.
type store struct {
	well, closed atomic.Bool
}

func (s *store) CheckSchema(context.Context) error {
	if !s.well.Load() {
		return errors.New("away")
	}
	return nil
}

func (s *store) Close() { s.closed.Store(true) }

// free returns an address without a listener.
func free(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// kubeconfigFile is a file for a hub that does not answer.
func kubeconfigFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(`{"clusters":[{"name":"c","cluster":{"server":"http://127.0.0.1:1"}}],
		"contexts":[{"name":"c","context":{"cluster":"c"}}],"current-context":"c"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// eventually waits until a URL answers with a code and a text.
func eventually(t *testing.T, url string, code int, text string) {
	t.Helper()
	last := ""
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		response, err := http.Get(url)
		if err != nil {
			last = err.Error()
			continue
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		last = fmt.Sprintf("%d %s %v", response.StatusCode, body, err)
		if response.StatusCode == code && strings.Contains(string(body), text) {
			return
		}
	}
	t.Fatalf("%s: not %d with %q within 30 s, but %s", url, code, text, last)
}

// TestRun: a program begins without its database and without its hub, says that
// it is not ready, becomes ready when the database does, and ends when it is
// told to.
func TestRun(t *testing.T) {
	for range 2 { // a second time in one process, as tests do
		opts, database, added := newTestOptions(), &store{}, make(chan string, 1)
		opts.Kubeconfig = kubeconfigFile(t)
		opts.LeaderElect, opts.MetricsSecure = false, false
		opts.MetricsAddr, opts.ProbeAddr = free(t), free(t)
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- Run(ctx, Program[*store]{
				Options: opts,
				Open:    func(context.Context, string) (*store, error) { return database, nil },
				Metrics: []prometheus.Collector{prometheus.NewGauge(prometheus.GaugeOpts{Name: "program_test", Help: "Of this test."})},
				Add: func(mgr manager.Manager, _ *store) error {
					config := mgr.GetConfig()
					added <- fmt.Sprintf("%s %g %d", config.UserAgent, config.QPS, config.Burst)
					return nil
				},
			})
		}()
		eventually(t, "http://"+opts.ProbeAddr+"/healthz", http.StatusOK, "ok")
		eventually(t, "http://"+opts.ProbeAddr+"/readyz", http.StatusInternalServerError, "[-]database failed")
		database.well.Store(true)
		eventually(t, "http://"+opts.ProbeAddr+"/readyz", http.StatusOK, "ok")
		eventually(t, "http://"+opts.MetricsAddr+"/metrics", http.StatusOK, "program_test 0")
		if got := <-added; got != "reader 1 1" {
			t.Errorf("the hub is asked as %s", got)
		}
		end()
		if err := <-ended; err != nil || !database.closed.Load() {
			t.Errorf("ended with %v, closed the database: %t", err, database.closed.Load())
		}
	}
}

// TestHubConfig: package kubeconfig finds the hub. For example, it does not look into a
// pod's home directory.
func TestHubConfig(t *testing.T) {
	runtest.NoHub(t)
	t.Setenv("KUBERNETES_SERVICE_HOST", "192.0.2.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	clientcmd.RecommendedHomeFile = kubeconfigFile(t)
	config, err := hubConfig(newTestOptions())
	switch {
	case err != nil:
		// The token of a pod has one path only, which a test cannot write.
		if !strings.HasPrefix(err.Error(), "read the pod's service account: ") {
			t.Error(err)
		}
	case config.Host != "https://192.0.2.1:443":
		t.Errorf("the hub is %s, want that of the pod", config.Host)
	}
	t.Setenv("KUBECONFIG", "/no/such/file")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	_, err = hubConfig(newTestOptions())
	if want := "no configuration of the test hub in $KUBECONFIG=/no/such/file"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want an error that begins with %q", err, want)
	}
}

// TestRunCannotBegin: each reason names what was given.
func TestRunCannotBegin(t *testing.T) {
	runtest.NoHub(t)
	for _, test := range []struct{ name, kubeconfig, want string }{
		{"not in a pod", "", "no configuration of the test hub: not running in a pod, so give a kubeconfig file by --kubeconfig or $KUBECONFIG"},
		{"no such kubeconfig", "/no/such/file", "read --kubeconfig=/no/such/file: "},
		{"a database that cannot be opened", kubeconfigFile(t), "open the database of $DATABASE_URL: refused"},
	} {
		t.Run(test.name, func(t *testing.T) {
			opts := newTestOptions()
			opts.Kubeconfig = test.kubeconfig
			err := Run(t.Context(), Program[*store]{Options: opts,
				Open: func(context.Context, string) (*store, error) { return nil, errors.New("refused") }})
			if err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, test.want)
			}
		})
	}
}

// TestManagerOptions: what the options say reaches the manager, and what the
// program holds of the hub stays.
func TestManagerOptions(t *testing.T) {
	opts := newTestOptions()
	held := cache.Options{DefaultLabelSelector: labels.Everything()}
	got := managerOptions(opts, held)
	if diff := cmp.Diff(map[string]cache.Config{"a": {}, "b": {}}, got.Cache.DefaultNamespaces); diff != "" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}
	if got.Cache.DefaultLabelSelector == nil || held.DefaultNamespaces != nil {
		t.Error("what is held of the hub was changed")
	}
	if !got.LeaderElection || got.LeaderElectionID != "reader-lock" || got.LeaderElectionNamespace != "ns" || !got.LeaderElectionReleaseOnCancel {
		t.Error("not the lock of the program in its own namespace")
	}
	if !got.Metrics.SecureServing || got.Metrics.FilterProvider == nil {
		t.Error("metrics are served without authorization")
	}
	opts.WatchNamespaces, opts.MetricsSecure = nil, false
	if got = managerOptions(opts, held); got.Cache.DefaultNamespaces != nil || got.Metrics.SecureServing || got.Metrics.FilterProvider != nil {
		t.Error("not all namespaces, or metrics that need an authorization which was switched off")
	}
}
