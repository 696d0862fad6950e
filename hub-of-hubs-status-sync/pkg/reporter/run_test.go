package reporter

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// opened is a database that is open.
type opened struct{ *database }

func (opened) CheckSchema(context.Context) error { return nil }

func (opened) Close() {}

// bare is an API server that answers, and serves no kind that is reported.
func bare(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch request.URL.Path {
		case "/readyz":
			fmt.Fprint(w, "ok")
		case "/api":
			fmt.Fprint(w, `{"kind":"APIVersions","versions":["v1"]}`)
		case "/apis":
			fmt.Fprint(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
		default:
			http.NotFound(w, request)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// TestRunWithoutKinds: a leaf hub need not have policies, or anything else: what
// it does not serve is waited for.
func TestRunWithoutKinds(t *testing.T) {
	for name, namespaces := range map[string][]string{"all namespaces": nil, "two namespaces": {"a", "b"}} {
		t.Run(name, func(t *testing.T) {
			opts := newOptions(func(string) string { return "" })
			opts.LeafHubName, opts.LeaderElect, opts.WatchNamespaces = "leaf", false, namespaces
			opts.MetricsAddr, opts.ProbeAddr = "0", "0"
			opts.Kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
			if err := os.WriteFile(opts.Kubeconfig, []byte(`{"clusters":[{"name":"c","cluster":{"server":"`+bare(t).URL+`"}}],
				"contexts":[{"name":"c","context":{"cluster":"c"}}],"current-context":"c"}`), 0o600); err != nil {
				t.Fatal(err)
			}
			store := &database{rows: map[string]string{}}
			ctx, end := context.WithCancel(t.Context())
			defer end()
			ended := make(chan error, 1)
			go func() {
				ended <- Run(ctx, opts, func(context.Context, string) (Store, error) { return opened{store}, nil })
			}()
			for deadline := time.Now().Add(time.Minute); store.beaten() == 0; {
				select {
				case err := <-ended:
					t.Fatalf("it ended: %v", err)
				case <-time.After(10 * time.Millisecond):
				}
				if time.Now().After(deadline) {
					t.Fatal("it does not beat")
				}
			}
			end()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}
