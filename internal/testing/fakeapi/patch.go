package fakeapi

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
)

// patch carries out the one kind of patch that the agent makes: a server-side
// apply of conditions of a ManagedClusterAddOn. An apply that changes nothing
// writes nothing.
func (s *Server) patch(k key, present Object, body []byte) (any, *apierrors.StatusError) {
	addOn, ok := present.DeepCopyObject().(*addonv1alpha1.ManagedClusterAddOn)
	if !ok {
		return nil, apierrors.NewMethodNotSupported(schema.GroupResource{Resource: k.resource}, "patch")
	}
	var applied addonv1alpha1.ManagedClusterAddOn
	if err := json.Unmarshal(body, &applied); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if applied.UID != addOn.UID {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: k.resource}, k.name, nil)
	}
	for i := range applied.Status.Conditions {
		if applied.Status.Conditions[i].LastTransitionTime.IsZero() {
			return nil, apierrors.NewBadRequest("a condition has no lastTransitionTime")
		}
		meta.SetStatusCondition(&addOn.Status.Conditions, applied.Status.Conditions[i])
	}
	if !equality.Semantic.DeepEqual(present, addOn) {
		s.store(k, addOn, watch.Modified)
	}
	return addOn, nil
}
