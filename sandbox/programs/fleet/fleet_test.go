package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func TestDifference(t *testing.T) {
	a, b, c := Member{Name: "a"}, Member{Name: "b"}, Member{Name: "c"}
	moved := Member{Name: "a", HubURL: "https://127.77.0.1:7443"}
	for _, test := range []struct {
		name             string
		running, desired []Member
		start            []Member
		end              []string
	}{
		{"nothing", nil, nil, nil, nil},
		{"all are new", nil, []Member{a, b}, []Member{a, b}, nil},
		{"all are running", []Member{a, b}, []Member{b, a}, nil, nil},
		{"one leaves and one joins", []Member{a, b}, []Member{b, c}, []Member{c}, []string{"a"}},
		{"another way to the hub is a new start", []Member{a, b}, []Member{moved, b}, []Member{moved}, []string{"a"}},
		{"all leave", []Member{a, b}, nil, nil, []string{"a", "b"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			running := map[string]Member{}
			for _, m := range test.running {
				running[m.Name] = m
			}
			start, end := difference(running, test.desired)
			slices.Sort(end)
			if diff := cmp.Diff(test.start, start) + cmp.Diff(test.end, end); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestBootstrap checks that a cluster's kubeconfig has its own server, and the credentials that the
// original names by paths.
func TestBootstrap(t *testing.T) {
	dir := t.TempDir()
	config := clientcmdapi.NewConfig()
	config.Clusters["hub"] = &clientcmdapi.Cluster{Server: "https://original:6443", CertificateAuthority: "ca.crt"}
	config.AuthInfos["user"] = &clientcmdapi.AuthInfo{ClientCertificate: "tls.crt", ClientKey: "tls.key"}
	config.Contexts["hub"] = &clientcmdapi.Context{Cluster: "hub", AuthInfo: "user"}
	config.CurrentContext = "hub"
	for _, name := range []string{"ca.crt", "tls.crt", "tls.key"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("content of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := clientcmd.WriteToFile(*config, filepath.Join(dir, "original")); err != nil {
		t.Fatal(err)
	}

	bootstrap, err := readBootstrap(filepath.Join(dir, "original"))
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{file: File{HubURL: "https://hub:6443"}, bootstrap: bootstrap}
	for _, test := range []struct {
		member Member
		server string
	}{
		{Member{Name: "a"}, "https://hub:6443"},
		{Member{Name: "b", HubURL: "https://127.77.0.1:7443"}, "https://127.77.0.1:7443"},
	} {
		own := filepath.Join(dir, test.member.Name)
		if err := f.prepare(own, test.member); err != nil {
			t.Fatal(err)
		}
		written, err := clientcmd.LoadFromFile(filepath.Join(own, "bootstrap", "kubeconfig"))
		if err != nil {
			t.Fatal(err)
		}
		cluster, user := written.Clusters["hub"], written.AuthInfos["user"]
		if cluster.Server != test.server || string(cluster.CertificateAuthorityData) != "content of ca.crt" ||
			string(user.ClientKeyData) != "content of tls.key" {
			t.Errorf("%s: server %s, authority %q, key %q", test.member.Name, cluster.Server,
				cluster.CertificateAuthorityData, user.ClientKeyData)
		}
	}
}

func TestHandler(t *testing.T) {
	apis := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	h := handler(apis, newMetrics(), "secret")
	for _, test := range []struct {
		path, token string
		want        int
	}{
		{"/metrics", "secret", http.StatusOK},
		{"/metrics", "", http.StatusUnauthorized},
		{"/metrics", "wrong", http.StatusUnauthorized},
		{"/debug/pprof/heap", "secret", http.StatusOK},
		{"/debug/pprof/heap", "", http.StatusUnauthorized}, // the heap has the clusters' Secrets
		{"/clusters/fleet-0001/api", "secret", http.StatusTeapot},
		{"/fleet/workloads", "secret", http.StatusTeapot},
	} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, test.path, nil)
		request.Header.Set("Authorization", "Bearer "+test.token)
		recorder := httptest.NewRecorder()
		h.ServeHTTP(recorder, request)
		if recorder.Code != test.want {
			t.Errorf("GET %s with token %q: %d, want %d", test.path, test.token, recorder.Code, test.want)
		}
	}
}
