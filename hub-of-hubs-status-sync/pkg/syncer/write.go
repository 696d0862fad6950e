package syncer

import (
	"context"
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer/plan"
)

// fieldOwner is the manager of the written fields in metadata.managedFields.
const fieldOwner = client.FieldOwner("hub-of-hubs-status-sync")

// execute carries out all actions, and returns the errors of those that failed.
func (k *kindSyncer) execute(ctx context.Context, owner plan.Object, actions []plan.Action) error {
	var errs []error
	for _, action := range actions {
		if err := k.executeOne(ctx, owner, action); err != nil {
			errs = append(errs, fmt.Errorf("%s %s %s/%s: %w", action.Verb, k.entry.Kind, owner.Namespace, action.Name(), err))
			continue
		}
		written.WithLabelValues(string(k.entry.Kind), string(action.Verb)).Inc()
	}
	return errors.Join(errs...)
}

func (k *kindSyncer) executeOne(ctx context.Context, owner plan.Object, action plan.Action) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	switch action.Verb {
	case plan.Create:
		return k.create(ctx, owner, action.Desired)
	case plan.Update:
		return k.update(ctx, action)
	default:
		return k.remove(ctx, action.Present.Object)
	}
}

func (k *kindSyncer) create(ctx context.Context, owner plan.Object, desired status.Desired) error {
	content := map[string]any{}
	if !k.entry.Subresource {
		content = plan.NewContent(desired.Fields)
	}
	created := &unstructured.Unstructured{Object: content}
	created.SetGroupVersionKind(k.entry.Object)
	created.SetNamespace(owner.Namespace)
	created.SetName(desired.Name)
	created.SetLabels(maps.Clone(desired.Labels))
	created.SetAnnotations(maps.Clone(desired.Annotations))
	if !k.entry.Owner.Empty() {
		created.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: k.entry.Owner.GroupVersion().String(), Kind: k.entry.Owner.Kind,
			Name: owner.Name, UID: owner.UID, Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
		}})
	}
	if err := k.writer.Create(ctx, created, fieldOwner); err != nil {
		if other, found := k.objects.named(owner.Namespace, desired.Name); apierrors.IsAlreadyExists(err) && found && !k.owns(owner, other) {
			return &failure{reasonForeign, fmt.Errorf("an object of this name (uid %s) has another owner and is not changed: %w", other.UID, err)}
		}
		return err
	}
	if !k.entry.Subresource {
		k.objects.learn(created.GetUID(), created.GetResourceVersion(), plan.Digest(desired.Fields))
		return nil
	}
	return k.patch(ctx, objectOf(created), plan.PatchContent(desired.Fields), desired, "status")
}

// owns reports whether the object is one that a syncer, in this or in another
// process, created for the owner.
func (k *kindSyncer) owns(owner, object plan.Object) bool {
	return k.entry.Owner.Empty() || object.Owner == owner.UID
}

// update patches the object, and then its status subresource if the kind has one.
func (k *kindSyncer) update(ctx context.Context, action plan.Action) error {
	target, desired := action.Present.Object, action.Desired
	if !k.entry.Subresource {
		content := map[string]any{}
		if action.Fields {
			content = plan.PatchContent(desired.Fields)
		}
		if action.Meta {
			content["metadata"] = plan.MetadataPatch(desired)
		}
		return k.patch(ctx, target, content, desired, "")
	}
	if action.Meta {
		content := map[string]any{"metadata": plan.MetadataPatch(desired)}
		if !action.Fields {
			return k.patch(ctx, target, content, desired, "")
		}
		next, err := k.send(ctx, target, content, "")
		if err != nil {
			return err
		}
		target = next
	}
	return k.patch(ctx, target, plan.PatchContent(desired.Fields), desired, "status")
}

// patch sends the last patch of an update: after it the object has the desired
// fields.
func (k *kindSyncer) patch(ctx context.Context, target plan.Object, content map[string]any, desired status.Desired, subresource string) error {
	next, err := k.send(ctx, target, content, subresource)
	if err != nil {
		return err
	}
	k.objects.learn(next.UID, next.ResourceVersion, plan.Digest(desired.Fields))
	return nil
}

// send sends a merge patch, which the API server rejects if another writer changed
// the object, and returns the object after it.
func (k *kindSyncer) send(ctx context.Context, target plan.Object, content map[string]any, subresource string) (plan.Object, error) {
	data, err := plan.MergePatch(target, content)
	if err != nil {
		return plan.Object{}, fmt.Errorf("encode the patch: %w", err)
	}
	// Only the metadata of the answer is decoded: the content is known.
	answer := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: target.Namespace, Name: target.Name}}
	answer.SetGroupVersionKind(k.entry.Object)
	patch := client.RawPatch(types.MergePatchType, data)
	if subresource == "" {
		err = k.writer.Patch(ctx, answer, patch, fieldOwner)
	} else {
		err = k.writer.SubResource(subresource).Patch(ctx, answer, patch, fieldOwner)
	}
	if err != nil {
		return plan.Object{}, err
	}
	return objectOf(answer), nil
}

func (k *kindSyncer) remove(ctx context.Context, target plan.Object) error {
	gone := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: target.Namespace, Name: target.Name}}
	gone.SetGroupVersionKind(k.entry.Object)
	err := k.writer.Delete(ctx, gone, client.Preconditions{UID: &target.UID, ResourceVersion: &target.ResourceVersion})
	return client.IgnoreNotFound(err)
}
