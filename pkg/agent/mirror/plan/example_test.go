package plan_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror/plan"
)

// A rule is a case of Decide. It sees the source and the copy of one name, reduced to
// the fields that rules need: a rule about another field of a ConfigMap first adds it
// to Source (NewSource) or Copy (Scope.NewCopy).
//
// For example, the rule that the label sync=disabled opts a source out
// (docs/design.md#rule-1-source) is the field Source.OptedOut, set in NewSource, and
// the variable wanted in Decide. Its tests are rows of TestDecide.
func ExampleDecide() {
	scope := plan.Scope{HubNamespace: "cluster1", InstallNamespace: "copies"}
	configMap := func(value string, labels, annotations map[string]string) *corev1.ConfigMap {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "settings", Labels: labels, Annotations: annotations},
			Data:       map[string]string{"color": value},
		}
	}
	source := plan.NewSource(configMap("blue", nil, nil))
	optedOut := plan.NewSource(configMap("blue", map[string]string{"helloworld.open-cluster-management.io/sync": "disabled"}, nil))
	foreign := scope.NewCopy(configMap("red", nil, nil))
	owned := scope.NewCopy(configMap("red", map[string]string{"app.kubernetes.io/managed-by": "helloworld-agent"},
		map[string]string{"helloworld.open-cluster-management.io/source": "cluster1/settings"}))

	fmt.Println("no copy yet:             ", plan.Decide("settings", source, nil))
	fmt.Println("the copy differs:        ", plan.Decide("settings", source, owned))
	fmt.Println("another owner's object:  ", plan.Decide("settings", source, foreign))
	fmt.Println("the source opted out:    ", plan.Decide("settings", optedOut, owned))
	fmt.Println("the source is deleted:   ", plan.Decide("settings", nil, owned))
	fmt.Println("Kubernetes' own:         ", plan.Decide("kube-root-ca.crt", source, nil))
	// Output:
	// no copy yet:              Create
	// the copy differs:         Update
	// another owner's object:   Conflict
	// the source opted out:     Delete
	// the source is deleted:    Delete
	// Kubernetes' own:          Ignore
}
