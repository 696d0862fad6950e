package unpack

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"k8s.io/klog/v2"
)

// newRegistry starts a registry for the user app with the password secret, and returns its
// host. Docker's configuration of the test has the password, or another one.
func newRegistry(t *testing.T, password string) string {
	t.Helper()
	store := registry.New(registry.Logger(klog.NewStandardLogger("INFO")))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "app" || password != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		store.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"auths":{"`+host+`":{"username":"app","password":"`+password+`"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DOCKER_CONFIG", dir)
	return host
}

func TestPull(t *testing.T) {
	host := newRegistry(t, "secret")
	here := filepath.Base(platform())
	pushed := mutate.AppendManifests(empty.Index,
		described(imageOf(t, fullConfig), "other", nil),
		described(imageOf(t, fullConfig, tarOf(t, entry{name: "bin/app", content: "1"})), here, nil))
	tag, err := name.NewTag(host + "/org/app:latest")
	if err != nil {
		t.Fatal(err)
	}
	credentials := remote.WithAuth(&authn.Basic{Username: "app", Password: "secret"})
	if err := remote.WriteIndex(tag, pushed, credentials); err != nil {
		t.Fatal(err)
	}
	digest, err := pushed.Digest()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ image, want string }{
		{host + "/org/app:latest", host + "/org/app:latest"},
		{host + "/org/app", host + "/org/app:latest"},
		{host + "/org/app@" + digest.String(), host + "/org/app@" + digest.String()},
	} {
		store, _ := newStore(t)
		got, err := Pull(t.Context(), store, test.image, ample)
		if got != test.want || err != nil {
			t.Errorf("Pull(%s) = %s, %v", test.image, got, err)
			continue
		}
		loaded, ok, err := store.Resolve(test.image)
		if !ok || err != nil {
			t.Fatalf("%t, %v", ok, err)
		}
		if diff := cmp.Diff(loadedConfig, loaded.Config); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(map[string]string{"bin/": "drwxr-xr-x", "bin/app": "1"}, listed(t, loaded.Dir)); diff != "" {
			t.Error(diff)
		}
		if known, err := store.Known(); err != nil || cmp.Diff([]string{test.want}, known) != "" {
			t.Errorf("mapped: %v, %v", known, err)
		}
	}
}

func TestPullFails(t *testing.T) {
	host := newRegistry(t, "secret")
	tag, err := name.NewTag(host + "/app:v1")
	if err != nil {
		t.Fatal(err)
	}
	hostile := imageOf(t, v1.Config{}, tarOf(t, entry{name: "../file", content: "x"}))
	if err := remote.Write(tag, hostile, remote.WithAuth(&authn.Basic{Username: "app", Password: "secret"})); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		name  string
		ctx   context.Context
		image string
		want  string
	}{
		{"an unknown image", t.Context(), host + "/none:v1", "pull image " + host + "/none:v1: "},
		{"a hostile one", t.Context(), host + "/app:v1", "leads out of the image"},
		{"no name", t.Context(), "My App", "is not an image's name"},
		{"no registry", t.Context(), "127.0.0.1:1/app:v1", "connection refused"},
		{"interrupted", ended, host + "/app:v1", "context canceled"},
	} {
		store, requireNothing := newStore(t)
		if _, err := Pull(test.ctx, store, test.image, ample); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
		requireNothing()
	}
}

func TestPullNeedsCredentials(t *testing.T) {
	host := newRegistry(t, "wrong")
	store, requireNothing := newStore(t)
	if _, err := Pull(t.Context(), store, host+"/app:v1", ample); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("error %v", err)
	}
	requireNothing()
}
