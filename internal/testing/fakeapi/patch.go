package fakeapi

import (
	"encoding/json"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
)

// patch carries out the patches that the programs make: a server-side apply of
// conditions of a ManagedClusterAddOn, or of a ConfigMapMirror's status, and a merge
// patch of a ConfigMapReplicaSet. A patch that changes nothing writes nothing.
func (s *Server) patch(k key, present Object, body []byte) (any, *apierrors.StatusError) {
	if set, ok := present.DeepCopyObject().(*v1alpha1.ConfigMapReplicaSet); ok {
		return s.mergePatch(k, set, body)
	}
	if mirror, ok := present.DeepCopyObject().(*v1alpha1.ConfigMapMirror); ok {
		return s.applyStatus(k, mirror, body)
	}
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

func (s *Server) applyStatus(k key, mirror *v1alpha1.ConfigMapMirror, body []byte) (any, *apierrors.StatusError) {
	var applied v1alpha1.ConfigMapMirror
	if err := json.Unmarshal(body, &applied); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if applied.Kind != "ConfigMapMirror" || applied.APIVersion != v1alpha1.GroupVersion.String() {
		return nil, apierrors.NewBadRequest("the kind of the applied object is " + applied.APIVersion + " " + applied.Kind)
	}
	if !equality.Semantic.DeepEqual(mirror.Status, applied.Status) {
		mirror.Status = applied.Status
		s.store(k, mirror, watch.Modified)
	}
	return mirror, nil
}

// mergePatch merges into a ConfigMapReplicaSet. A change of its spec is a generation.
func (s *Server) mergePatch(k key, set *v1alpha1.ConfigMapReplicaSet, body []byte) (any, *apierrors.StatusError) {
	before, err := json.Marshal(set)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	merged, err := jsonpatch.MergePatch(before, body)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	var patched v1alpha1.ConfigMapReplicaSet
	if err := json.Unmarshal(merged, &patched); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if patched.UID != set.UID || patched.ResourceVersion != set.ResourceVersion {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: k.resource}, k.name, nil)
	}
	if !equality.Semantic.DeepEqual(patched.Spec, set.Spec) {
		patched.Generation++
		s.store(k, &patched, watch.Modified)
	}
	return &patched, nil
}
