package memapi

import (
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The finalizers that the collector handles.
const (
	foregroundFinalizer = metav1.FinalizerDeleteDependents
	orphanFinalizer     = metav1.FinalizerOrphanDependents
	customFinalizer     = "customresourcecleanup.apiextensions.k8s.io"
)

// create stores a new object. The caller holds a.mu.
func (a *API) create(k *kind, namespace string, obj *unstructured.Unstructured, dryRun bool) (*entry, error) {
	if err := named(k, namespace, obj); err != nil {
		return nil, err
	}
	if obj.GetName() == "" && obj.GetGenerateName() != "" {
		obj.SetName(obj.GetGenerateName() + utilrand.String(5))
	}
	if obj.GetName() == "" {
		return nil, apierrors.NewInvalid(k.gvk().GroupKind(), "", field.ErrorList{
			field.Required(field.NewPath("metadata", "name"), "name or generateName is required")})
	}
	if obj.GetResourceVersion() != "" {
		return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	if err := a.admit(k, nameOf(obj)); err != nil {
		return nil, err
	}
	a.prepare(k, obj)
	if dryRun {
		return newEntry(obj, a.version)
	}
	stored, err := a.put(k, obj)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if len(stored.owners) == 0 {
		return stored, nil
	}
	return stored, a.collect()
}

// named checks the kind of obj against the path of the request, and sets its namespace.
func named(k *kind, namespace string, obj *unstructured.Unstructured) error {
	if gvk := obj.GroupVersionKind(); gvk.Kind != "" && gvk != k.gvk() {
		return apierrors.NewBadRequest(fmt.Sprintf("the API version and kind in the data (%s) do not match those of the request (%s)", gvk, k.gvk()))
	}
	obj.SetGroupVersionKind(k.gvk())
	if obj.GetNamespace() != "" && obj.GetNamespace() != namespace {
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	if k.namespaced && namespace == "" {
		return apierrors.NewBadRequest("an empty namespace may not be set during creation")
	}
	obj.SetNamespace(namespace)
	return nil
}

// admit refuses to create an object that exists, or in a namespace that does not.
func (a *API) admit(k *kind, n name) error {
	if existing := a.table(k.GroupResource()).objects[n]; existing != nil {
		return apierrors.NewAlreadyExists(k.GroupResource(), n.Name)
	}
	if !k.namespaced {
		return nil
	}
	namespace := a.table(namespaces.GroupResource()).objects[name{Name: n.Namespace}]
	if namespace == nil {
		return apierrors.NewNotFound(namespaces.GroupResource(), n.Namespace)
	}
	if namespace.terminating {
		err := apierrors.NewForbidden(k.GroupResource(), n.Name,
			fmt.Errorf("unable to create new content in namespace %s because it is being terminated", n.Namespace))
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
			Type: "NamespaceTerminating", Message: fmt.Sprintf("namespace %s is being terminated", n.Namespace), Field: "metadata.namespace"})
		return err
	}
	return nil
}

// prepare sets what the API server sets in a new object.
func (a *API) prepare(k *kind, obj *unstructured.Unstructured) {
	obj.SetUID(uuid.NewUUID())
	obj.SetCreationTimestamp(metav1.NewTime(a.server.clock.Now()))
	obj.SetGeneration(0)
	for _, set := range []string{"generation", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"} {
		unstructured.RemoveNestedField(obj.Object, "metadata", set)
	}
	if k.generation {
		obj.SetGeneration(1)
	}
	if k.status {
		delete(obj.Object, "status")
	}
	a.convert(k, obj)
}

// convert makes the changes that the API server makes in objects of some kinds.
func (a *API) convert(k *kind, obj *unstructured.Unstructured) {
	switch k.GroupVersionResource {
	case secrets:
		secretData(obj)
	case namespaces:
		namespaceDefaults(obj)
	case crds:
		a.crdDefaults(obj)
	}
}

// options are those of a write that the API regards.
type options struct {
	status  bool // of the status subresource
	dryRun  bool
	manager string
	applied bool // by server-side apply, which tracks its fields itself
}

// update replaces the object of old by obj. The caller holds a.mu.
func (a *API) update(k *kind, old *entry, obj *unstructured.Unstructured, o options) (*entry, error) {
	current, err := old.decode()
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	n := nameOf(current)
	if err := named(k, n.Namespace, obj); err != nil {
		return nil, err
	}
	if obj.GetName() != n.Name {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", obj.GetName(), n.Name))
	}
	if err := precondition(k, n.Name, old, obj.GetUID(), obj.GetResourceVersion()); err != nil {
		return nil, err
	}
	merged := merge(k, current, obj, o.status)
	a.convert(k, merged)
	if err := track(k, current, merged, o); err != nil {
		return nil, err
	}
	if err := unchangeable(k, current, merged); err != nil {
		return nil, err
	}
	if o.dryRun {
		return newEntry(merged, old.revision)
	}
	if merged.GetDeletionTimestamp() != nil && a.gone(k, merged) {
		now, err := a.remove(k, n, merged)
		if err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		return now, a.collect()
	}
	now, err := a.put(k, merged)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if len(now.owners) == 0 && !now.terminating {
		return now, nil
	}
	return now, a.collect()
}

// precondition compares the UID and the resource version that a request gives, where it
// gives them, with those of the stored object.
func precondition(k *kind, name string, old *entry, uid types.UID, version string) error {
	if uid != "" && uid != old.uid {
		return apierrors.NewConflict(k.GroupResource(), name,
			fmt.Errorf("Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, old.uid)) //nolint:staticcheck // the API server's words
	}
	if version != "" && version != old.resourceVersion() {
		return apierrors.NewConflict(k.GroupResource(), name,
			fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	return nil
}

// merge returns the object that an update of current by obj makes. An update of the
// status changes nothing else, and any other does not change the status.
func merge(k *kind, current, obj *unstructured.Unstructured, status bool) *unstructured.Unstructured {
	if status {
		merged := current.DeepCopy()
		set(merged, "status", obj.Object["status"])
		merged.SetManagedFields(obj.GetManagedFields())
		return merged
	}
	merged := obj.DeepCopy()
	merged.SetUID(current.GetUID())
	merged.SetCreationTimestamp(current.GetCreationTimestamp())
	merged.SetDeletionTimestamp(current.GetDeletionTimestamp())
	merged.SetDeletionGracePeriodSeconds(current.GetDeletionGracePeriodSeconds())
	merged.SetGeneration(current.GetGeneration())
	if k.status {
		set(merged, "status", current.Object["status"])
	}
	if k.generation && !sameSpec(k, current, merged) {
		merged.SetGeneration(current.GetGeneration() + 1)
	}
	return merged
}

func set(obj *unstructured.Unstructured, field string, value any) {
	if value == nil {
		delete(obj.Object, field)
		return
	}
	obj.Object[field] = value
}

// sameSpec reports whether two objects have the same desired state: all but the metadata,
// and but the status if it is a subresource.
func sameSpec(k *kind, a, b *unstructured.Unstructured) bool {
	return reflect.DeepEqual(specOf(k, a), specOf(k, b))
}

func specOf(k *kind, obj *unstructured.Unstructured) map[string]any {
	spec := make(map[string]any, len(obj.Object))
	for key, value := range obj.Object {
		if key == "metadata" || key == "apiVersion" || key == "status" && k.status {
			continue
		}
		spec[key] = value
	}
	return spec
}

// unchangeable refuses a change of a field that cannot be changed.
func unchangeable(k *kind, current, merged *unstructured.Unstructured) error {
	paths := immutable[k.GroupResource()]
	if frozen, _, _ := unstructured.NestedBool(current.Object, "immutable"); frozen {
		paths = append(slices.Clone(paths), []string{"data"}, []string{"binaryData"}, []string{"immutable"})
	}
	for _, path := range paths {
		before, _, _ := unstructured.NestedFieldNoCopy(current.Object, path...)
		after, _, _ := unstructured.NestedFieldNoCopy(merged.Object, path...)
		if !reflect.DeepEqual(before, after) {
			return apierrors.NewInvalid(k.gvk().GroupKind(), merged.GetName(), field.ErrorList{
				field.Invalid(field.NewPath(path[0], path[1:]...), "", "field is immutable")})
		}
	}
	return nil
}

// delete deletes an object, or marks it as to be deleted while it has finalizers. The
// caller holds a.mu.
func (a *API) delete(k *kind, n name, o metav1.DeleteOptions) (*entry, error) {
	old := a.table(k.GroupResource()).objects[n]
	if old == nil {
		return nil, apierrors.NewNotFound(k.GroupResource(), n.Name)
	}
	if p := o.Preconditions; p != nil {
		if err := precondition(k, n.Name, old, deref(p.UID), deref(p.ResourceVersion)); err != nil {
			return nil, err
		}
	}
	if len(o.DryRun) > 0 {
		return old, nil
	}
	now, err := a.terminate(k, n, old, o.PropagationPolicy)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return now, a.collect()
}

func deref[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}

// terminate removes an object without finalizers, and sets the deletionTimestamp of any
// other.
func (a *API) terminate(k *kind, n name, old *entry, policy *metav1.DeletionPropagation) (*entry, error) {
	obj, err := old.decode()
	if err != nil {
		return nil, err
	}
	finalize(obj, policy)
	if a.gone(k, obj) {
		return a.remove(k, n, obj)
	}
	if !old.terminating {
		now := metav1.NewTime(a.server.clock.Now())
		obj.SetDeletionTimestamp(&now)
		obj.SetDeletionGracePeriodSeconds(new(int64))
		if obj.GetGeneration() > 0 {
			obj.SetGeneration(obj.GetGeneration() + 1)
		}
		if k.GroupVersionResource == namespaces {
			if err := unstructured.SetNestedField(obj.Object, "Terminating", "status", "phase"); err != nil {
				return nil, fmt.Errorf("set phase of namespace %s: %w", n.Name, err)
			}
		}
	}
	return a.put(k, obj)
}

// finalize adds the finalizer of a deletion in the foreground or that orphans.
func finalize(obj *unstructured.Unstructured, policy *metav1.DeletionPropagation) {
	finalizers := slices.DeleteFunc(obj.GetFinalizers(), func(f string) bool {
		return policy != nil && (f == foregroundFinalizer || f == orphanFinalizer)
	})
	switch deref(policy) {
	case metav1.DeletePropagationForeground:
		finalizers = append(finalizers, foregroundFinalizer)
	case metav1.DeletePropagationOrphan:
		finalizers = append(finalizers, orphanFinalizer)
	}
	setFinalizers(obj, finalizers)
}

func setFinalizers(obj *unstructured.Unstructured, finalizers []string) {
	if len(finalizers) == 0 {
		finalizers = nil
	}
	obj.SetFinalizers(finalizers)
}

// gone reports whether nothing keeps a deleted object: no finalizer and no content.
func (a *API) gone(k *kind, obj *unstructured.Unstructured) bool {
	if len(obj.GetFinalizers()) > 0 {
		return false
	}
	return k.GroupVersionResource != namespaces || a.emptyNamespace(obj.GetName())
}
