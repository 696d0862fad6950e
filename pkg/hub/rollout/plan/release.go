package plan

import (
	"encoding/json"
	"fmt"

	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/helloworld-addon/pkg/hub/addon/install"
)

// hashKey is the annotation of a ManifestWork with the hashes of its configs. OCM's
// rollout goes on to the next clusters when they are the desired hashes and the work is
// applied.
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/addon/controllers/addonprogressing/controller.go
const hashKey = workv1.ManifestConfigSpecHashAnnotationKey

// configHashes returns the value of the annotation hashKey for the add-on's desired
// configs; empty means that it has none. ok reports whether OCM's add-on manager has
// set the hashes of all of them. The value is addon-framework's ConfigsToMap as JSON:
// https://github.com/open-cluster-management-io/addon-framework/blob/v1.3.0/pkg/addonmanager/controllers/agentdeploy/utils.go
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
	// Marshal never fails for a map of strings.
	encoded, _ := json.Marshal(hashes)
	return string(encoded), true
}

// Releases returns the works whose annotation hashKey must be written now, and its
// value; an empty value removes it. There are none until the agent is rolled out with
// the add-on's desired config.
func Releases(addOn *addonv1beta1.ManagedClusterAddOn, works []*workv1.ManifestWork) (held []*workv1.ManifestWork, value string) {
	value, ok := configHashes(addOn)
	if !ok || addOn.DeletionTimestamp != nil || !StateOf(works).RolledOut(install.ConfigHash(addOn)) {
		return nil, ""
	}
	for _, work := range works {
		if work.DeletionTimestamp == nil && work.Annotations[hashKey] != value && applied(work) {
			held = append(held, work)
		}
	}
	return held, value
}

// ReleasePatch returns the merge patch that writes the annotation hashKey, with the
// work's UID and resourceVersion as preconditions.
func ReleasePatch(work *workv1.ManifestWork, value string) ([]byte, error) {
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

// Hold returns addon-framework's merge patch of a ManifestWork without the annotation
// hashKey, which is written later (Releases). changes reports whether the patch still
// changes anything.
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
		// These two are preconditions, not changes.
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

// HoldNew returns the ManifestWork to create without the annotation hashKey.
func HoldNew(work *workv1.ManifestWork) *workv1.ManifestWork {
	if _, ok := work.Annotations[hashKey]; !ok {
		return work
	}
	held := work.DeepCopy()
	delete(held.Annotations, hashKey)
	return held
}
