package install

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// firstKinds are the kinds of objects that others need, in the order in which they are
// needed.
var firstKinds = []string{"Namespace", "ServiceAccount", "Role", "RoleBinding"}

// InOrder returns the ManifestWork to create with the objects that others need first.
//
// addon-framework sorts the objects of a new work by size, and keeps the order of an
// existing one. OCM's work agent applies them one after the other: the agent's namespace
// came last, the work agent reported that it could not apply the others, and applied all
// of them again.
// https://github.com/open-cluster-management-io/sdk-go/blob/v1.3.0/pkg/apis/work/v1/builder/workbuilder.go
func InOrder(work *workv1.ManifestWork) *workv1.ManifestWork {
	ordered := work.DeepCopy()
	slices.SortStableFunc(ordered.Spec.Workload.Manifests, func(a, b workv1.Manifest) int { return rank(a) - rank(b) })
	return ordered
}

func rank(manifest workv1.Manifest) int {
	var object metav1.TypeMeta
	if err := json.Unmarshal(manifest.Raw, &object); err != nil {
		return len(firstKinds)
	}
	if i := slices.Index(firstKinds, object.Kind); i >= 0 {
		return i
	}
	return len(firstKinds)
}
