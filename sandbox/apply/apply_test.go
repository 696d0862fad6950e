package apply

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

func TestExplain(t *testing.T) {
	unknown := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "example.com", Kind: "App"}, SearchedVersions: []string{"v1"}}
	for _, test := range []struct {
		name        string
		ended, last error
		want        string
	}{
		{"an unknown kind", nil, unknown,
			`the cluster has no such kind, not even after 30s: apply its CRD first, or correct apiVersion and kind: no matches for kind "App" in version "example.com/v1"`},
		{"at the caller's deadline", context.DeadlineExceeded, unknown,
			`the cluster has no such kind, not even after 30s: apply its CRD first, or correct apiVersion and kind: context deadline exceeded: no matches for kind "App" in version "example.com/v1"`},
		{"an interrupt, after which the CRD might have come", context.Canceled, unknown,
			`cannot look up the kind, tried for 30s: context canceled: no matches for kind "App" in version "example.com/v1"`},
		{"another error", nil, errors.New("connection refused"), "cannot look up the kind, tried for 30s: connection refused"},
	} {
		got := explain(test.ended, test.last, 30*time.Second+time.Millisecond)
		if got.Error() != test.want || !errors.Is(got, test.last) || test.ended != nil && !errors.Is(got, test.ended) {
			t.Errorf("%s: explain = %q, want %q", test.name, got, test.want)
		}
	}
}

// TestApplyIsInterrupted checks that the wait for the kind of a new CRD has the error of the caller's context.
func TestApplyIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cancel()
		http.NotFound(w, r)
	}))
	defer server.Close()
	applier, err := New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	err = applier.Apply(ctx, []byte("{apiVersion: example.com/v1, kind: App, metadata: {name: one}}"))
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "apply App one: cannot look up the kind, tried for 0s: context canceled: ") {
		t.Errorf("Apply = %v, want that it was interrupted", err)
	}
}
