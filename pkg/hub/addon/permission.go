package addon

import (
	"context"
	"fmt"
	"maps"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/klog/v2"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
)

// requestTimeout bounds the requests of one call of the framework to us.
const requestTimeout = 10 * time.Second

// applyHubRBAC makes the Role and the RoleBinding in the cluster's namespace on
// the hub what they should be, and writes nothing when they are.
//
// addon-framework's own helper is not used: it leaves an owner reference to a
// ManagedClusterAddOn that has been deleted since, so that a Role which it finds
// just before Kubernetes collects it is missing for minutes after the add-on is
// enabled again; and it cannot change a binding's role.
func applyHubRBAC(ctx context.Context, client rbacclient.RbacV1Interface, addon *addonv1beta1.ManagedClusterAddOn) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := applyRole(ctx, client.Roles(addon.Namespace), HubRole(addon)); err != nil {
		return err
	}
	return applyRoleBinding(ctx, client.RoleBindings(addon.Namespace), HubRoleBinding(addon))
}

func applyRole(ctx context.Context, client rbacclient.RoleInterface, desired *rbacv1.Role) error {
	current, err := client.Get(ctx, desired.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = client.Create(ctx, desired, metav1.CreateOptions{})
		return written(ctx, "create", "role", desired, err)
	case err != nil:
		return fmt.Errorf("get role %s: %w", klog.KObj(desired), err)
	case metaMatches(current, desired) && equality.Semantic.DeepEqual(current.Rules, desired.Rules):
		return nil
	}
	updated := current.DeepCopy()
	setMeta(updated, desired)
	updated.Rules = desired.Rules
	_, err = client.Update(ctx, updated, metav1.UpdateOptions{})
	return written(ctx, "update", "role", desired, err)
}

func applyRoleBinding(ctx context.Context, client rbacclient.RoleBindingInterface, desired *rbacv1.RoleBinding) error {
	current, err := client.Get(ctx, desired.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = client.Create(ctx, desired, metav1.CreateOptions{})
		return written(ctx, "create", "role binding", desired, err)
	case err != nil:
		return fmt.Errorf("get role binding %s: %w", klog.KObj(desired), err)
	case !equality.Semantic.DeepEqual(current.RoleRef, desired.RoleRef):
		return replaceRoleBinding(ctx, client, current, desired)
	case metaMatches(current, desired) && equality.Semantic.DeepEqual(current.Subjects, desired.Subjects):
		return nil
	}
	updated := current.DeepCopy()
	setMeta(updated, desired)
	updated.Subjects = desired.Subjects
	_, err = client.Update(ctx, updated, metav1.UpdateOptions{})
	return written(ctx, "update", "role binding", desired, err)
}

// replaceRoleBinding deletes and creates, because a binding's role is immutable.
func replaceRoleBinding(ctx context.Context, client rbacclient.RoleBindingInterface, current, desired *rbacv1.RoleBinding) error {
	err := client.Delete(ctx, current.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &current.UID, ResourceVersion: &current.ResourceVersion},
	})
	if err != nil {
		return fmt.Errorf("delete role binding %s: %w", klog.KObj(current), err)
	}
	_, err = client.Create(ctx, desired, metav1.CreateOptions{})
	return written(ctx, "create", "role binding", desired, err)
}

// written wraps the error of a write, or logs that it was done.
func written(ctx context.Context, operation, kind string, object klog.KMetadata, err error) error {
	if err != nil {
		return fmt.Errorf("%s %s %s: %w", operation, kind, klog.KObj(object), err)
	}
	klog.FromContext(ctx).Info("Wrote the agent's rights on the hub",
		"operation", operation, "kind", kind, "object", klog.KObj(object))
	return nil
}

// metaMatches says whether current has the owner and the labels of desired.
// Labels that others have added are theirs.
func metaMatches(current, desired metav1.Object) bool {
	labels := maps.Clone(current.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, desired.GetLabels())
	return equality.Semantic.DeepEqual(current.GetOwnerReferences(), desired.GetOwnerReferences()) &&
		maps.Equal(current.GetLabels(), labels)
}

func setMeta(current, desired metav1.Object) {
	labels := current.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, desired.GetLabels())
	current.SetLabels(labels)
	current.SetOwnerReferences(desired.GetOwnerReferences())
}
