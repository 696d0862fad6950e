package rollout

import (
	"encoding/json"
	"fmt"

	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// hashKey is the annotation of a ManifestWork by which OCM's add-on manager knows
// the configs that it carries. A rollout goes on to the next clusters when it
// matches the desired ones and the work is applied.
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/addon/controllers/addonprogressing/controller.go
const hashKey = workv1.ManifestConfigSpecHashAnnotationKey

// configHashes returns the value of the annotation hashKey for the add-on's
// desired configs; empty means that it has none. ok reports whether OCM's add-on
// manager has settled all of them.
//
// It is what addon-framework's ConfigsToMap returns, as JSON.
func configHashes(addOn *addonv1beta1.ManagedClusterAddOn) (value string, ok bool) {
	if len(addOn.Status.ConfigReferences) == 0 {
		return "", true
	}
	hashes := map[string]string{}
	for _, reference := range addOn.Status.ConfigReferences {
		desired := reference.DesiredConfig
		if desired == nil || desired.SpecHash == "" {
			return "", false
		}
		hashes[fmt.Sprintf("%s.%s/%s/%s", reference.Resource, reference.Group, desired.Namespace, desired.Name)] = desired.SpecHash
	}
	// A map of strings is always encoded.
	encoded, _ := json.Marshal(hashes)
	return string(encoded), true
}

// Releases returns the works whose annotation has to be written now that the
// agent is rolled out, and its value; empty means that it has to go. hash is that
// of the config with which the agent is rendered.
func Releases(addOn *addonv1beta1.ManagedClusterAddOn, works []*workv1.ManifestWork, hash string) (held []*workv1.ManifestWork, value string) {
	value, ok := configHashes(addOn)
	if !ok || addOn.DeletionTimestamp != nil || !StateOf(works).RolledOut(hash) {
		return nil, ""
	}
	for _, work := range works {
		if work.DeletionTimestamp == nil && work.Annotations[hashKey] != value && applied(work) {
			held = append(held, work)
		}
	}
	return held, value
}

// releasePatch returns the merge patch that writes the annotation on the very
// work that was looked at.
func releasePatch(work *workv1.ManifestWork, value string) ([]byte, error) {
	annotations := map[string]any{hashKey: value}
	if value == "" {
		annotations[hashKey] = nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": work.UID, "resourceVersion": work.ResourceVersion, "annotations": annotations}})
	if err != nil {
		return nil, fmt.Errorf("encode the patch of ManifestWork %s/%s: %w", work.Namespace, work.Name, err)
	}
	return patch, nil
}

// Hold returns the merge patch of a ManifestWork by addon-framework without the
// annotation hashKey, which Releases writes later. changes reports whether
// anything is left of it.
func Hold(patch []byte) (held []byte, changes bool, err error) {
	var body map[string]any
	if err := json.Unmarshal(patch, &body); err != nil {
		return nil, false, fmt.Errorf("decode the patch of a ManifestWork: %w", err)
	}
	metadata, _ := body["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	delete(annotations, hashKey)
	if len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	for key := range metadata {
		// These two are preconditions.
		changes = changes || key != "uid" && key != "resourceVersion"
	}
	for key := range body {
		changes = changes || key != "metadata"
	}
	held, err = json.Marshal(body)
	if err != nil {
		return nil, false, fmt.Errorf("encode the patch of a ManifestWork: %w", err)
	}
	return held, changes, nil
}

// HoldNew removes the annotation from a ManifestWork that is created.
func HoldNew(work *workv1.ManifestWork) *workv1.ManifestWork {
	if _, ok := work.Annotations[hashKey]; !ok {
		return work
	}
	held := work.DeepCopy()
	delete(held.Annotations, hashKey)
	return held
}

// desiredHash returns the hash of the config with which the agent is to be
// rendered; empty means that it has none.
func desiredHash(addOn *addonv1beta1.ManagedClusterAddOn) string {
	for _, reference := range addOn.Status.ConfigReferences {
		if reference.Group == addonv1beta1.GroupName && reference.Resource == "addondeploymentconfigs" && reference.DesiredConfig != nil {
			return reference.DesiredConfig.SpecHash
		}
	}
	return ""
}
