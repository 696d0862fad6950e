package install

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"
)

// TestInOrder: the work agent applies the objects one after the other. Of one kind, they
// keep their order.
func TestInOrder(t *testing.T) {
	work := &workv1.ManifestWork{}
	given := []string{`{"kind":"Deployment"}`, `{"kind":"RoleBinding","metadata":{"name":"b"}}`, `{"kind":"Role"}`, `no JSON`,
		`{"kind":"RoleBinding","metadata":{"name":"a"}}`, `{"kind":"Namespace"}`, `{"kind":"ServiceAccount"}`}
	for _, raw := range given {
		work.Spec.Workload.Manifests = append(work.Spec.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(raw)}})
	}
	contents := func(work *workv1.ManifestWork) (contents []string) {
		for _, manifest := range work.Spec.Workload.Manifests {
			contents = append(contents, string(manifest.Raw))
		}
		return contents
	}
	want := []string{`{"kind":"Namespace"}`, `{"kind":"ServiceAccount"}`, `{"kind":"Role"}`, `{"kind":"RoleBinding","metadata":{"name":"b"}}`,
		`{"kind":"RoleBinding","metadata":{"name":"a"}}`, `{"kind":"Deployment"}`, `no JSON`}
	if diff := cmp.Diff(want, contents(InOrder(work))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(given, contents(work)); diff != "" {
		t.Errorf("it changed its argument (-want +got):\n%s", diff)
	}
}
