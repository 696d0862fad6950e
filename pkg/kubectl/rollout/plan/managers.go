package plan

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FieldManager names this program in managedFields.
const FieldManager = "kubectl-helloworld"

// managerOf returns the program that owns one of the fields by this operation, or an empty string. A field is at the
// top of the object or of its spec. kubectl is no such program: a person writes by it, once.
// https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
func managerOf(entries []metav1.ManagedFieldsEntry, operation metav1.ManagedFieldsOperationType, fields ...string) string {
	for _, entry := range entries {
		if entry.Operation != operation || entry.Subresource != "" || strings.HasPrefix(entry.Manager, "kubectl") || entry.FieldsV1 == nil {
			continue
		}
		var owned, spec map[string]json.RawMessage
		if json.Unmarshal(entry.FieldsV1.Raw, &owned) != nil {
			continue
		}
		_ = json.Unmarshal(owned["f:spec"], &spec) // an object without a spec has none
		if slices.ContainsFunc(fields, func(field string) bool { return owned[field] != nil || spec[field] != nil }) {
			return entry.Manager
		}
	}
	return ""
}
