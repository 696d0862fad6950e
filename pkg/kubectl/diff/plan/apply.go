package plan

import (
	"bytes"
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/shell"
)

// Apply is the request by which "kubectl apply" writes an object, and what it makes of it.
type Apply struct {
	// Nothing reports that there is nothing to write.
	Nothing bool
	// Create reports that the object does not exist. Body is the object then, and otherwise a patch of this type.
	Create    bool
	PatchType types.PatchType
	Body      []byte
	// Merged is the object after that, as JSON, without what the API server does to it.
	Merged []byte
}

// NewApply returns how an object is written that is stored like this; an empty live object does not exist. A patch is the
// difference of three objects, as that of kubectl: what the annotation says was applied last, what is applied now, and what is
// stored.
// https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/#how-apply-calculates-differences-and-merges-changes
func NewApply(object FileObject, live []byte) (Apply, error) {
	desired, err := annotated(object.Raw)
	if err != nil {
		return Apply{}, fmt.Errorf("apply %s: %w", object, err)
	}
	if len(live) == 0 {
		return Apply{Create: true, Body: desired, Merged: desired}, nil
	}
	apply, err := newPatch(object, desired, live)
	if err != nil {
		return Apply{}, fmt.Errorf("apply %s: %w", object, err)
	}
	apply.Nothing = string(apply.Body) == "{}"
	return apply, nil
}

func newPatch(object FileObject, desired, live []byte) (Apply, error) {
	var stored unstructured.Unstructured
	if err := json.Unmarshal(live, &stored); err != nil {
		return Apply{}, err
	}
	original := []byte(stored.GetAnnotations()[corev1.LastAppliedConfigAnnotation])
	unchanged := []mergepatch.PreconditionFunc{mergepatch.RequireKeyUnchanged("apiVersion"), mergepatch.RequireKeyUnchanged("kind"),
		mergepatch.RequireMetadataKeyUnchanged("name")}
	if object.Kind != ConfigMapKind {
		patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(original, desired, live, unchanged...)
		if err != nil {
			return Apply{}, err
		}
		merged, err := jsonpatch.MergePatch(live, patch)
		return Apply{PatchType: types.MergePatchType, Body: patch, Merged: merged}, err
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(corev1.ConfigMap{})
	if err != nil {
		return Apply{}, err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(original, desired, live, meta, true, unchanged...)
	if err != nil {
		return Apply{}, err
	}
	merged, err := strategicpatch.StrategicMergePatch(live, patch, corev1.ConfigMap{})
	return Apply{PatchType: types.StrategicMergePatchType, Body: patch, Merged: merged}, err
}

// annotated returns the object as kubectl writes it: with itself in an annotation.
func annotated(raw []byte) ([]byte, error) {
	var object unstructured.Unstructured
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	annotations := object.GetAnnotations()
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	object.SetAnnotations(annotations)
	text, err := object.MarshalJSON() // it ends with a line feed, as kubectl's does
	if err != nil {
		return nil, err
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[corev1.LastAppliedConfigAnnotation] = string(text)
	object.SetAnnotations(annotations)
	result, err := object.MarshalJSON()
	return bytes.TrimSpace(result), err
}

// Invalid returns why the API server refuses a ConfigMap in the place of what is stored, as far as that is known without asking
// it, or an empty string.
// https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/apis/core/validation/validation.go (ValidateConfigMapUpdate)
func Invalid(object FileObject, live, after []byte) string {
	if object.Kind != ConfigMapKind {
		return ""
	}
	before, now := &corev1.ConfigMap{}, &corev1.ConfigMap{}
	if err := json.Unmarshal(after, now); err != nil {
		return err.Error()
	}
	if len(live) > 0 {
		if err := json.Unmarshal(live, before); err != nil {
			return err.Error()
		}
	}
	size := render.ContentOf(now).Size()
	switch {
	case size > render.MaxContent:
		return fmt.Sprintf("it has %d bytes, and may have at most %d", size, render.MaxContent)
	case isTrue(before.Immutable) && (!isTrue(now.Immutable) ||
		!equality.Semantic.DeepEqual(before.Data, now.Data) || !equality.Semantic.DeepEqual(before.BinaryData, now.BinaryData)):
		return "it is immutable"
	}
	return ""
}

// Advice returns what to do about an object that the API server refuses, or an empty string.
func Advice(object FileObject, live []byte) string {
	stored := &corev1.ConfigMap{}
	if object.Kind != ConfigMapKind || len(live) == 0 || json.Unmarshal(live, stored) != nil || !isTrue(stored.Immutable) {
		return ""
	}
	return ": delete it, and apply it again: kubectl delete configmap -n " + shell.Quote(object.Namespace, object.Name)
}

func isTrue(b *bool) bool { return b != nil && *b }
