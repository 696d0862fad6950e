package doctor

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// TestExamineRequests: docs/ui.md has how many requests a panel takes.
func TestExamineRequests(t *testing.T) {
	const deployment = `{"items":[{"metadata":{"name":"c","namespace":"n"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"spec":{"serviceAccountName":"c"}}}}]}`
	const mirrors = `{"kind":"ConfigMapMirrorList","apiVersion":"helloworld.open-cluster-management.io/v1alpha1","items":[{"kind":"ConfigMapMirror",` +
		`"apiVersion":"helloworld.open-cluster-management.io/v1alpha1","metadata":{"name":"helloworld","namespace":"cluster1"}}]}`
	for _, test := range []struct {
		name, annotations string
		want              int32
	}{
		{"the add-on is there", ``, 23},
		{"hosted", `"annotations":{"addon.open-cluster-management.io/hosting-cluster-name":"host"},`, 24},
	} {
		t.Run(test.name, func(t *testing.T) {
			var requests atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				w.Header().Set("Content-Type", "application/json")
				answer := `{}` // an empty list, or an object
				switch {
				case strings.HasSuffix(r.URL.Path, "/deployments"):
					answer = deployment
				case strings.HasSuffix(r.URL.Path, "/configmapmirrors"): // the agent has not reported in it
					answer = mirrors
				case strings.HasSuffix(r.URL.Path, "/managedclusteraddons"):
					answer = `{"items":[{"metadata":{` + test.annotations + `"name":"helloworld","namespace":"cluster1"}}]}`
				}
				_, _ = w.Write([]byte(answer))
			}))
			defer server.Close()
			t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
			flags := genericclioptions.NewConfigFlags(false)
			flags.APIServer = &server.URL
			if _, err := Examine(t.Context(), flags, "cluster1", time.Now()); err != nil {
				t.Fatal(err)
			}
			if got := requests.Load(); got != test.want {
				t.Errorf("%d requests, want %d: correct docs/ui.md too", got, test.want)
			}
		})
	}
}
