package syncer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// project takes the fields' values from an object's content.
func project(content map[string]any, fields []status.Field) []status.Field {
	result := make([]status.Field, 0, len(fields))
	for _, field := range fields {
		var value any = content
		for _, step := range field.Path {
			parent, ok := value.(map[string]any)
			if !ok {
				value = nil
				break
			}
			value = parent[step]
		}
		result = append(result, status.Field{Path: field.Path, Value: value})
	}
	return result
}

// digestOf tells fields apart: those with equal JSON have one digest.
func digestOf(fields []status.Field) string {
	hash := sha256.New()
	encoder := json.NewEncoder(hash)
	for _, field := range fields {
		// JSON values have no encoding error, and a hash takes everything.
		_ = encoder.Encode(field.Path)
		_ = encoder.Encode(field.Value)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// tree makes an object of fields. With absent, those without a value are null,
// which in a merge patch removes them; otherwise they are left out.
func tree(fields []status.Field, absent bool) map[string]any {
	root := map[string]any{}
	for _, field := range fields {
		if field.Value == nil && !absent {
			continue
		}
		parent := root
		for _, step := range field.Path[:len(field.Path)-1] {
			child, ok := parent[step].(map[string]any)
			if !ok {
				child = map[string]any{}
				parent[step] = child
			}
			parent = child
		}
		parent[field.Path[len(field.Path)-1]] = field.Value
	}
	return root
}

// mergePatch is a merge patch of an object as it is now: uid and resourceVersion
// make the API server refuse it when somebody was faster.
func mergePatch(p object, content map[string]any) ([]byte, error) {
	metadata, ok := content["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		content["metadata"] = metadata
	}
	metadata["uid"], metadata["resourceVersion"] = string(p.UID), p.ResourceVersion
	return json.Marshal(content)
}

// metadataPatch is the part of a patch for labels and annotations.
func metadataPatch(d status.Desired) map[string]any {
	labels, annotations := map[string]any{}, map[string]any{}
	for key, value := range d.Labels {
		labels[key] = value
	}
	for _, key := range ownAnnotations {
		annotations[key] = nil
		if value, found := d.Annotations[key]; found {
			annotations[key] = value
		}
	}
	return map[string]any{"labels": labels, "annotations": annotations}
}
