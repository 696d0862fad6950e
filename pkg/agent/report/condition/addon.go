package report

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// AddOn is what the agent keeps of its ManagedClusterAddOn.
type AddOn struct {
	// ObjectMeta has the name, the namespace and the UID, no more.
	metav1.ObjectMeta
	// Deleting says that it has a deletionTimestamp.
	Deleting bool
	// Released reports whether manifests.ReleaseAnnotation releases deletions.
	Released bool
	// Condition is ConfigMapsSynced as it is on the hub, nil where it is not.
	Condition *metav1.Condition
}

// NewAddOn keeps what is needed of a ManagedClusterAddOn.
func NewAddOn(original *addonv1alpha1.ManagedClusterAddOn) *AddOn {
	addOn := &AddOn{
		ObjectMeta: metav1.ObjectMeta{Name: original.Name, Namespace: original.Namespace, UID: original.UID},
		Deleting:   original.DeletionTimestamp != nil,
		Released:   original.Annotations[manifests.ReleaseAnnotation] == manifests.ReleaseTrue,
	}
	for i := range original.Status.Conditions {
		if original.Status.Conditions[i].Type == manifests.ConditionConfigMapsSynced {
			addOn.Condition = original.Status.Conditions[i].DeepCopy()
		}
	}
	return addOn
}

// configuration is what is applied: the one condition, and whose it is. The UID
// keeps it from being applied to an add-on that was enabled anew meanwhile.
type configuration struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Namespace string    `json:"namespace"`
		Name      string    `json:"name"`
		UID       types.UID `json:"uid"`
	} `json:"metadata"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// Configuration is the body of the server-side apply that makes wanted the
// add-on's condition. The time of the last transition stays where the status
// stays. Else it is later than the present one, also where this cluster's clock is
// behind the hub's: by it the hub knows that the agent has reported since the hub
// called it silent.
func Configuration(addOn *AddOn, wanted metav1.Condition, now time.Time) ([]byte, error) {
	wanted.LastTransitionTime = metav1.NewTime(now)
	if present := addOn.Condition; present != nil && !present.LastTransitionTime.IsZero() {
		// The API keeps whole seconds.
		next := present.LastTransitionTime.Add(time.Second)
		switch {
		case present.Status == wanted.Status:
			wanted.LastTransitionTime = present.LastTransitionTime
		case now.Before(next):
			wanted.LastTransitionTime = metav1.NewTime(next)
		}
	}
	c := configuration{APIVersion: addonv1alpha1.GroupVersion.String(), Kind: "ManagedClusterAddOn"}
	c.Metadata.Namespace, c.Metadata.Name, c.Metadata.UID = addOn.Namespace, addOn.Name, addOn.UID
	c.Status.Conditions = []metav1.Condition{wanted}
	body, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode condition %s: %w", wanted.Type, err)
	}
	return body, nil
}
