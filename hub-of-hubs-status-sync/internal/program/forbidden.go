package program

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// MissingRule returns the rule of a Role or ClusterRole that allows the verbs on the resource of a Forbidden error, as YAML.
// For example: {apiGroups: [apps], resources: [deployments], verbs: [list]}.
func MissingRule(err error, verbs ...string) string {
	var group, resource string
	if answer := apierrors.APIStatus(nil); errors.As(err, &answer) && answer.Status().Details != nil {
		group, resource = answer.Status().Details.Group, answer.Status().Details.Kind
	}
	// YAML needs quotes for the core group's empty name.
	if group == "" {
		group = `""`
	}
	return fmt.Sprintf("{apiGroups: [%s], resources: [%s], verbs: [%s]}", group, resource, strings.Join(verbs, ", "))
}
