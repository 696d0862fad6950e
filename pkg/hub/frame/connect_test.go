package frame

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
)

// needed are APIs that a program needs.
var needed = []API{
	{"addon.open-cluster-management.io/v1beta1", []string{"addondeploymentconfigs", "clustermanagementaddons", "managedclusteraddons"}, false},
	{"cluster.open-cluster-management.io/v1", []string{"managedclusters"}, false},
	{"work.open-cluster-management.io/v1", []string{"manifestworks"}, false},
	{ownAPI, []string{"configmapmirrors"}, true},
}

const ownAPI = "helloworld.open-cluster-management.io/v1alpha1"

// hubAPI is what a hub serves, by path.
func hubAPI() map[string][]string {
	return map[string][]string{
		"/apis/addon.open-cluster-management.io/v1beta1": {"addondeploymentconfigs", "clustermanagementaddons", "managedclusteraddons"},
		"/apis/cluster.open-cluster-management.io/v1":    {"managedclusters", "managedclusters/status"},
		"/apis/work.open-cluster-management.io/v1":       {"manifestworks"},
		"/apis/" + ownAPI: {"configmapmirrors", "configmapmirrors/status"},
	}
}

// serve answers as an API server does that has the resources in api.
func serve(api map[string][]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		names, ok := api[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
			GroupVersion: strings.TrimPrefix(r.URL.Path, "/apis/")}
		for _, name := range names {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(list); err != nil {
			panic(err)
		}
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func TestAwaitHub(t *testing.T) {
	old := hubAPI()
	delete(old, "/apis/addon.open-cluster-management.io/v1beta1")
	old["/apis/addon.open-cluster-management.io/v1alpha1"] = []string{"managedclusteraddons"}
	withoutOwn := hubAPI()
	delete(withoutOwn, "/apis/"+ownAPI)
	tests := []struct {
		name    string
		reason  string
		handler http.HandlerFunc
		err     string
	}{
		{name: "a hub", handler: serve(hubAPI())},
		{name: "a cluster without OCM", reason: "waiting would not help", handler: serve(nil), err: "is not a hub of Open Cluster Management"},
		{name: "a hub that is too old", reason: "names what is missing", handler: serve(old),
			err: "does not serve addondeploymentconfigs.addon.open-cluster-management.io/v1beta1, "},
		{name: "a hub that is too old", reason: "tells the version that is needed", handler: serve(old), err: "install OCM v1.2 or later there"},
		{name: "without the add-on's CRDs", reason: "it is a hub, so OCM is not what is missing", handler: serve(withoutOwn),
			err: "does not serve configmapmirrors.helloworld.open-cluster-management.io/v1alpha1: the add-on's CRDs are missing: apply those of this version"},
		{name: "wrong credentials", reason: "waiting would not help", handler: status(http.StatusUnauthorized), err: "check the credentials"},
		{name: "no leave to look", reason: "waiting would not help", handler: status(http.StatusForbidden), err: "check the credentials"},
		{name: "something else than an API server", reason: "the error names the server",
			handler: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, err: "check that --kubeconfig points at a hub"},
		{name: "a server that only fails", reason: "asked until the time is up", handler: status(http.StatusInternalServerError), err: "did not answer within 100ms"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(test.handler)
			defer server.Close()
			_, err := awaitHub(t.Context(), &rest.Config{Host: server.URL}, needed, 100*time.Millisecond)
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got error %v, want %q (%s)", err, test.err, test.reason)
			}
			if err != nil && !strings.Contains(err.Error(), server.URL) {
				t.Errorf("the error does not name the server: %v", err)
			}
		})
	}
}

func TestAwaitHubWaitsForAServerThatStarts(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		serve(hubAPI())(w, r)
	}))
	defer server.Close()
	if _, err := awaitHub(t.Context(), &rest.Config{Host: server.URL}, needed, time.Minute); err != nil {
		t.Errorf("got error %v, want none", err)
	}
}

func TestAwaitHubUnreachable(t *testing.T) {
	server := httptest.NewServer(serve(nil))
	server.Close()
	_, err := awaitHub(t.Context(), &rest.Config{Host: server.URL}, needed, 50*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "did not answer within 50ms") || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got error %v, want that and why the server did not answer", err)
	}
}

// TestAwaitHubCertificate has a server whose certificate is not the one in the
// kubeconfig: that does not pass by waiting.
func TestAwaitHubCertificate(t *testing.T) {
	server := httptest.NewTLSServer(serve(hubAPI()))
	defer server.Close()
	server.Config.ErrorLog = nil
	_, err := awaitHub(t.Context(), &rest.Config{Host: server.URL}, needed, time.Minute)
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got error %v, want one about the certificate", err)
	}
}

func TestHubConfig(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	runtest.NoCluster(t)
	tests := []struct{ name, kubeconfig, err string }{
		{"outside of a pod", "", "no configuration of the hub: "},
		{"no such file", "/nonexistent", "read --kubeconfig=/nonexistent"},
		{"an empty file", empty, "read --kubeconfig=" + empty},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := hubConfig(&Options{Kubeconfig: test.kubeconfig}, "program")
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("got error %v, want %q", err, test.err)
			}
		})
	}
}

func TestAwaitHubEndsWithItsContext(t *testing.T) {
	server := httptest.NewServer(status(http.StatusServiceUnavailable))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := awaitHub(ctx, &rest.Config{Host: server.URL}, needed, time.Minute); err == nil {
		t.Error("got no error of a wait that was called off")
	}
}
