package memapi

import (
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// apply answers a server-side apply
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/). An object gets
// managed fields only when it is applied for the first time: they would double the memory
// of all others.
func (a *API) apply(k *kind, n name, old *entry, r *request, o options) (int, []byte, error) {
	if r.query.Get("fieldManager") == "" {
		return 0, nil, apierrors.NewInvalid(k.gvk().GroupKind(), n.Name, field.ErrorList{
			field.Required(field.NewPath("fieldManager"), "is required for apply patch")})
	}
	patch := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(r.body, &patch.Object); err != nil {
		return 0, nil, badBody(k, err)
	}
	if err := normalize(patch); err != nil {
		return 0, nil, badBody(k, err)
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(k.gvk())
	if old != nil {
		decoded, err := old.decode()
		if err != nil {
			return 0, nil, err
		}
		live = decoded
	}
	fields, err := fieldManager(k, o)
	if err != nil {
		return 0, nil, err
	}
	patch.SetName(n.Name)
	merged, err := fields.Apply(live, patch, o.manager, r.query.Get("force") == "true")
	if err != nil {
		return 0, nil, err
	}
	obj, ok := merged.(*unstructured.Unstructured)
	if !ok {
		return 0, nil, fmt.Errorf("apply %s %s: the result is a %T", k.name, n, merged)
	}
	if old != nil {
		o.applied = true
		e, err := a.update(k, old, obj, o)
		return entryAnswer(http.StatusOK, k, e, err)
	}
	if o.status {
		return 0, nil, apierrors.NewNotFound(k.GroupResource(), n.Name)
	}
	e, err := a.create(k, n.Namespace, obj, o.dryRun)
	return entryAnswer(http.StatusCreated, k, e, err)
}

// track records in merged who manages the fields that an update changes. Objects that
// were never applied are not tracked.
func track(k *kind, current, merged *unstructured.Unstructured, o options) error {
	if o.applied {
		return nil
	}
	if len(current.GetManagedFields()) == 0 {
		merged.SetManagedFields(nil)
		return nil
	}
	fields, err := fieldManager(k, o)
	if err != nil {
		return err
	}
	tracked, err := fields.Update(current, merged, o.manager)
	if err != nil {
		return err
	}
	if obj, ok := tracked.(*unstructured.Unstructured); ok {
		merged.Object = obj.Object
	}
	return nil
}

// fieldManager returns what merges the fields of k's objects. The kinds of Kubernetes have
// their schema; in all others lists are atomic.
func fieldManager(k *kind, o options) (*managedfields.FieldManager, error) {
	subresource := ""
	if o.status {
		subresource = "status"
	}
	converter := deduced
	if scheme.Scheme.Recognizes(k.gvk()) {
		converter = known
	}
	fields, err := managedfields.NewDefaultCRDFieldManager(converter, unconverted{}, undefaulted{}, maker{}, k.gvk(), k.GroupVersion(), subresource, nil)
	if err != nil {
		return nil, fmt.Errorf("make field manager of %s: %w", k.name, err)
	}
	return fields, nil
}

var (
	known   = applyconfigurations.NewTypeConverter(scheme.Scheme)
	deduced = managedfields.NewDeducedTypeConverter()
)

// unconverted is the conversion between the versions of a kind: it sets the apiVersion.
type unconverted struct{}

func (unconverted) Convert(in, out, _ any) error {
	return fmt.Errorf("convert %T to %T: not supported", in, out)
}

func (unconverted) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	obj, ok := in.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("convert %T: not supported", in)
	}
	gvk := obj.GroupVersionKind()
	if to, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{gvk}); ok && to != gvk {
		obj = obj.DeepCopy()
		obj.SetGroupVersionKind(to)
	}
	return obj, nil
}

func (unconverted) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

type undefaulted struct{}

func (undefaulted) Default(runtime.Object) {}

type maker struct{}

func (maker) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(gvk)
	return obj, nil
}
