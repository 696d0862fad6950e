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
)

// fieldOwner is who the API server says wrote a field.
const fieldOwner = client.FieldOwner("hub-of-hubs-status-sync")

// execute carries the actions out and returns every error.
func (k *kindSyncer) execute(ctx context.Context, owner object, actions []action) error {
	var errs []error
	for _, a := range actions {
		limited, cancel := context.WithTimeout(ctx, requestTimeout)
		var err error
		switch a.Verb {
		case create:
			err = k.create(limited, owner, a.Desired)
		case update:
			err = k.update(limited, a)
		case remove:
			err = k.remove(limited, a.Present.object)
		}
		cancel()
		if err != nil {
			name := a.Present.Name
			if a.Verb == create {
				name = a.Desired.Name
			}
			errs = append(errs, fmt.Errorf("%s %s %s/%s: %w", a.Verb, k.entry.Kind, owner.Namespace, name, err))
			continue
		}
		written.WithLabelValues(string(k.entry.Kind), string(a.Verb)).Inc()
	}
	return errors.Join(errs...)
}

func (k *kindSyncer) create(ctx context.Context, owner object, desired status.Desired) error {
	content := map[string]any{}
	if !k.entry.Subresource {
		content = tree(desired.Fields, false)
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
		if other, found := k.objects.named(owner.Namespace, desired.Name); apierrors.IsAlreadyExists(err) && found && !k.mine(other, owner) {
			return &failure{reasonForeign, fmt.Errorf("an object of this name (uid %s) belongs to somebody else and is left alone: %w", other.UID, err)}
		}
		return err
	}
	if !k.entry.Subresource {
		k.objects.learn(created.GetUID(), created.GetResourceVersion(), digestOf(desired.Fields))
		return nil
	}
	return k.patch(ctx, objectOf(created), tree(desired.Fields, true), desired, "status")
}

// mine says whether an object is one that the syncer has made for an owner, here
// or in another process.
func (k *kindSyncer) mine(o, owner object) bool {
	return k.entry.Owner.Empty() || o.Owner == owner.UID
}

func (k *kindSyncer) update(ctx context.Context, a action) error {
	target := a.Present.object
	if a.Meta || (a.Fields && !k.entry.Subresource) {
		content := map[string]any{}
		if a.Fields && !k.entry.Subresource {
			content = tree(a.Desired.Fields, true)
		}
		if a.Meta {
			content["metadata"] = metadataPatch(a.Desired)
		}
		next, err := k.send(ctx, target, content, "")
		if err != nil {
			return err
		}
		if !a.Fields || !k.entry.Subresource {
			k.objects.learn(next.UID, next.ResourceVersion, digestOf(a.Desired.Fields))
			return nil
		}
		target = next
	}
	return k.patch(ctx, target, tree(a.Desired.Fields, true), a.Desired, "status")
}

// patch writes the desired fields and remembers that they are written.
func (k *kindSyncer) patch(ctx context.Context, target object, content map[string]any, desired status.Desired, subresource string) error {
	next, err := k.send(ctx, target, content, subresource)
	if err != nil {
		return err
	}
	k.objects.learn(next.UID, next.ResourceVersion, digestOf(desired.Fields))
	return nil
}

// send sends a merge patch that the API server takes only if the object is still
// as it was, and returns the object after it.
func (k *kindSyncer) send(ctx context.Context, target object, content map[string]any, subresource string) (object, error) {
	data, err := mergePatch(target, content)
	if err != nil {
		return object{}, fmt.Errorf("encode the patch: %w", err)
	}
	// The answer is the metadata alone: the content is known.
	answer := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: target.Namespace, Name: target.Name}}
	answer.SetGroupVersionKind(k.entry.Object)
	patch := client.RawPatch(types.MergePatchType, data)
	if subresource == "" {
		err = k.writer.Patch(ctx, answer, patch, fieldOwner)
	} else {
		err = k.writer.SubResource(subresource).Patch(ctx, answer, patch, fieldOwner)
	}
	if err != nil {
		return object{}, err
	}
	return objectOf(answer), nil
}

func (k *kindSyncer) remove(ctx context.Context, target object) error {
	gone := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: target.Namespace, Name: target.Name}}
	gone.SetGroupVersionKind(k.entry.Object)
	err := k.writer.Delete(ctx, gone, client.Preconditions{UID: &target.UID, ResourceVersion: &target.ResourceVersion})
	return client.IgnoreNotFound(err)
}
