package condition

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// AddOn is what the agent stores of its ManagedClusterAddOn.
type AddOn struct {
	// ObjectMeta has only the name, the namespace and the UID.
	metav1.ObjectMeta
	// Deleting reports whether it has a deletionTimestamp.
	Deleting bool
	// Released reports whether manifests.ReleaseAnnotation releases held deletions.
	Released bool
	// Condition is the condition ConfigMapsSynced on the hub, nil if there is none.
	Condition *metav1.Condition
}

// NewAddOn returns what the agent stores of a ManagedClusterAddOn.
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

// configuration is the body of the server-side apply. It has one condition, so that
// the agent's field manager owns nothing else. The API server rejects it for another
// UID: the add-on may have been deleted and enabled again.
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

// Configuration returns the body of the server-side apply that sets the add-on's
// condition. The lastTransitionTime changes with the status only. It is always later
// than the present one, also if this cluster's clock is behind the hub's: the hub
// compares it to find out whether the agent has reported since the hub set the
// status to Unknown.
func Configuration(addOn *AddOn, wanted metav1.Condition, now time.Time) ([]byte, error) {
	wanted.LastTransitionTime = metav1.NewTime(now)
	if present := addOn.Condition; present != nil && !present.LastTransitionTime.IsZero() {
		// The API has a resolution of one second.
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
