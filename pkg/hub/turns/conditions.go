package turns

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// onlyConditions returns the patch for the add-on in the cache.
func (t *Turns) onlyConditions(cluster string, kind types.PatchType, merge []byte, subresources []string) (patch []byte, ok bool) {
	cached, err := t.cached.ManagedClusterAddOns(cluster).Get(manifests.AddonName)
	if err != nil {
		return nil, false
	}
	return onlyConditions(cached, kind, merge, subresources)
}

// onlyConditions returns a JSON patch for a merge patch of the add-on's conditions. ok
// reports whether the merge patch is based on before, and adds and changes conditions
// alone.
//
// A merge patch replaces the whole list, so it needs the version, and is a conflict when
// anyone has written another condition since. The JSON patch tests the UID and those
// conditions that it changes. The API server refuses a second condition of one type.
func onlyConditions(before *addonv1beta1.ManagedClusterAddOn, kind types.PatchType, merge []byte, subresources []string) (patch []byte, ok bool) {
	if kind != types.MergePatchType || !slices.Equal(subresources, []string{"status"}) || !hasOnlyConditions(merge) {
		return nil, false
	}
	var after addonv1beta1.ManagedClusterAddOn
	if json.Unmarshal(merge, &after) != nil || after.UID != before.UID || after.ResourceVersion != before.ResourceVersion {
		return nil, false
	}
	former, wanted := before.Status.Conditions, after.Status.Conditions
	if len(former) == 0 || len(wanted) < len(former) {
		return nil, false
	}
	operations := []operation{{"test", "/metadata/uid", before.UID}}
	for i := range former {
		if wanted[i].Type != former[i].Type {
			return nil, false
		}
		if !equality.Semantic.DeepEqual(wanted[i], former[i]) {
			path := fmt.Sprintf("/status/conditions/%d", i)
			operations = append(operations, operation{"test", path, former[i]}, operation{"replace", path, wanted[i]})
		}
	}
	for _, condition := range wanted[len(former):] {
		operations = append(operations, operation{"add", "/status/conditions/-", condition})
	}
	patch, err := json.Marshal(operations)
	return patch, err == nil
}

// hasOnlyConditions reports whether a merge patch has the UID, the version and the
// conditions, and nothing else.
func hasOnlyConditions(merge []byte) bool {
	var content map[string]map[string]json.RawMessage
	if json.Unmarshal(merge, &content) != nil {
		return false
	}
	_, ok := content["status"]["conditions"]
	return ok && len(content) == 2 && len(content["status"]) == 1 && len(content["metadata"]) == 2
}
