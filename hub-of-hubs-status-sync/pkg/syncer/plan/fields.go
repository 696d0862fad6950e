package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// project returns the values that the fields have in an object's content.
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

// Digest returns a hash of the fields. Fields with equal JSON have equal digests.
func Digest(fields []status.Field) string {
	hash := sha256.New()
	encoder := json.NewEncoder(hash)
	for _, field := range fields {
		// JSON values encode without an error, and a hash accepts every write.
		_ = encoder.Encode(field.Path)
		_ = encoder.Encode(field.Value)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// NewContent returns the content of a new object with the fields that have a
// value.
func NewContent(fields []status.Field) map[string]any { return tree(fields, false) }

// PatchContent returns the content of a merge patch that sets the fields. A field
// without a value is null, which removes it from the object
// (https://www.rfc-editor.org/rfc/rfc7386).
func PatchContent(fields []status.Field) map[string]any { return tree(fields, true) }

func tree(fields []status.Field, nulls bool) map[string]any {
	root := map[string]any{}
	for _, field := range fields {
		if field.Value == nil && !nulls {
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

// MergePatch returns a merge patch with uid and resourceVersion as preconditions:
// the API server rejects it with a conflict if another writer changed or replaced
// the object
// (https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#concurrency-control-and-consistency).
func MergePatch(p Object, content map[string]any) ([]byte, error) {
	metadata, ok := content["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		content["metadata"] = metadata
	}
	metadata["uid"], metadata["resourceVersion"] = string(p.UID), p.ResourceVersion
	return json.Marshal(content)
}

// MetadataPatch returns the metadata of a merge patch that sets the desired labels
// and annotations, and removes own annotations that are not desired.
func MetadataPatch(d status.Desired) map[string]any {
	labels, annotations := map[string]any{}, map[string]any{}
	for key, value := range d.Labels {
		labels[key] = value
	}
	for _, key := range OwnAnnotations {
		annotations[key] = nil
		if value, found := d.Annotations[key]; found {
			annotations[key] = value
		}
	}
	return map[string]any{"labels": labels, "annotations": annotations}
}
