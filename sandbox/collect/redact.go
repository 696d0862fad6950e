package collect

import (
	"encoding/base64"
	"fmt"
)

// lastApplied is kubectl's annotation with a copy of the whole object, also of a Secret
// (https://kubernetes.io/docs/reference/labels-annotations-taints/#kubectl-kubernetes-io-last-applied-configuration).
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// redact replaces the values of Secrets, also of those inside other objects such as ManifestWorks, by
// their lengths. It removes copies of whole objects and the field managers' records, which nobody reads.
func redact(value any) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			redact(item)
		}
	case map[string]any:
		if value["kind"] == "Secret" {
			redactValues(value["data"], true)
			redactValues(value["stringData"], false)
		}
		if metadata, ok := value["metadata"].(map[string]any); ok {
			delete(metadata, "managedFields")
			if annotations, ok := metadata["annotations"].(map[string]any); ok {
				delete(annotations, lastApplied)
			}
		}
		for _, item := range value {
			redact(item)
		}
	}
}

// redactValues replaces the values of a Secret's field data or stringData.
func redactValues(field any, encoded bool) {
	values, ok := field.(map[string]any)
	if !ok {
		return
	}
	for key, value := range values {
		text := fmt.Sprint(value)
		length := len(text)
		if content, err := base64.StdEncoding.DecodeString(text); err == nil && encoded {
			length = len(content)
		}
		values[key] = fmt.Sprintf("(redacted: %d bytes)", length)
	}
}
