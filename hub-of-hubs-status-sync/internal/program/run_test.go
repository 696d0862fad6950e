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
	"k8s.io/client-go/tools/clientcmd/api"
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

// kubeconfig is a file for a hub that does not answer.
func kubeconfig(t *testing.T) string {
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
		opts.Kubeconfig = kubeconfig(t)
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

// TestHubConfigMissing: the error names the file of the environment, which is easily mistyped.
func TestHubConfigMissing(t *testing.T) {
	runtest.NoHub(t)
	t.Setenv("KUBECONFIG", "/no/such/file")
	_, err := hubConfig(newTestOptions())
	if want := "no configuration of the test hub in $KUBECONFIG=/no/such/file"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want an error that begins with %q", err, want)
	}
}

// TestHubConfig: the loading rules are kubectl's.
func TestHubConfig(t *testing.T) {
	write := func(t *testing.T, file, server string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		config := api.NewConfig()
		config.Clusters["c"] = &api.Cluster{Server: server}
		config.Contexts["c"] = &api.Context{Cluster: "c"}
		config.CurrentContext = "c"
		if err := clientcmd.WriteToFile(*config, file); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for name, test := range map[string]struct{ flag, environment, home bool }{
		"the flag comes before the environment and the home directory": {flag: true, environment: true, home: true},
		"the environment comes before the home directory":              {environment: true, home: true},
		"the home directory's file is the last":                        {home: true},
	} {
		t.Run(name, func(t *testing.T) {
			runtest.NoHub(t)
			opts, want := newTestOptions(), ""
			if test.home {
				want = "https://home"
				write(t, clientcmd.RecommendedHomeFile, want)
			}
			if test.environment {
				want = "https://environment"
				t.Setenv("KUBECONFIG", write(t, filepath.Join(t.TempDir(), "config"), want))
			}
			if test.flag {
				want = "https://flag"
				opts.Kubeconfig = write(t, filepath.Join(t.TempDir(), "config"), want)
			}
			config, err := hubConfig(opts)
			if err != nil {
				t.Fatal(err)
			}
			if config.Host != want {
				t.Errorf("the hub is %s, want %s", config.Host, want)
			}
		})
	}
}

// TestRunCannotBegin: each reason names what was given.
func TestRunCannotBegin(t *testing.T) {
	runtest.NoHub(t)
	for _, test := range []struct{ name, kubeconfig, want string }{
		{"not in a pod", "", "no configuration of the test hub: give a kubeconfig file with --kubeconfig or $KUBECONFIG"},
		{"no such kubeconfig", "/no/such/file", "read --kubeconfig=/no/such/file: "},
		{"a database that cannot be opened", kubeconfig(t), "open the database of $DATABASE_URL: refused"},
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
