package turns

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
)

// operation is an operation of a JSON patch.
// https://datatracker.ietf.org/doc/html/rfc6902
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// addFinalizers returns the patch for an update of the add-on in the cache.
func (t *Turns) addFinalizers(cluster string, after *addonv1beta1.ManagedClusterAddOn) (patch []byte, ok bool) {
	cached, err := t.cached.ManagedClusterAddOns(cluster).Get(after.Name)
	if err != nil {
		return nil, false
	}
	return addFinalizers(cached, after)
}

// addFinalizers returns a JSON patch for an update of the add-on that only adds
// finalizers. ok reports whether after is such an update of before.
//
// addon-framework adds a finalizer by an update of the whole object, which is a conflict
// when anyone has written the status since. The patch is based on the finalizers alone. A
// finalizer is never removed so: whether that is right depends on the status.
func addFinalizers(before, after *addonv1beta1.ManagedClusterAddOn) (patch []byte, ok bool) {
	had := len(before.Finalizers)
	if len(after.Finalizers) <= had || !slices.Equal(after.Finalizers[:had], before.Finalizers) {
		return nil, false
	}
	same := after.DeepCopy()
	same.Finalizers, same.ResourceVersion, same.Status = before.Finalizers, before.ResourceVersion, before.Status
	if !equality.Semantic.DeepEqual(before, same) {
		return nil, false
	}
	var former any
	if had > 0 {
		former = before.Finalizers
	}
	patch, err := json.Marshal([]operation{
		{"test", "/metadata/uid", before.UID},
		{"test", "/metadata/finalizers", former},
		{"add", "/metadata/finalizers", after.Finalizers},
	})
	return patch, err == nil
}
