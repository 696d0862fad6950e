package apply

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestExplain(t *testing.T) {
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{"an unknown kind", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "example.com", Kind: "App"}, SearchedVersions: []string{"v1"}},
			`the cluster has no such kind, also after 30s: apply its CRD before, or correct apiVersion and kind: no matches for kind "App" in version "example.com/v1"`},
		{"another error", errors.New("connection refused"), "look up the kind for 30s: connection refused"},
	} {
		got := explain(test.err, 30*time.Second+time.Millisecond)
		if got.Error() != test.want || !errors.Is(got, test.err) {
			t.Errorf("%s: explain = %q, want %q", test.name, got, test.want)
		}
	}
}
