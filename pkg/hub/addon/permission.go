package addon

import (
	"context"
	"fmt"
	"time"

	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourceapply"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon/identity"
)

// requestTimeout bounds the requests of one call by the framework.
const requestTimeout = 10 * time.Second

// HubClient writes the agents' rights on the hub, and events about them.
type HubClient interface {
	RbacV1() rbacclient.RbacV1Interface
	CoreV1() coreclient.CoreV1Interface
}

// applyBinding applies a RoleBinding in the cluster's namespace on the hub. It sends
// no request when the cache has the binding as wanted, and one to create that of a new
// add-on. Each other write repairs, and is an event of the ManagedClusterAddOn.
//
// For repairs it uses library-go's ApplyRoleBinding and event recorder, which compare,
// write and report as OCM's own controllers do. addon-framework's BindKubeClientRole keeps an
// owner reference to a deleted ManagedClusterAddOn, so that the binding is missing for
// minutes after the add-on is enabled again (docs/design.md#hub-rbac).
func applyBinding(ctx context.Context, client HubClient, cache rbaclisters.RoleBindingLister, now clock.PassiveClock,
	addon *addonv1beta1.ManagedClusterAddOn, binding *rbacv1.RoleBinding) error {
	cached, err := cache.RoleBindings(binding.Namespace).Get(binding.Name)
	switch {
	case err == nil && identity.BoundAs(cached, binding):
		return nil
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("look up role binding %s: %w", klog.KObj(binding), err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err == nil && cached.RoleRef != binding.RoleRef {
		if err := removeFormer(ctx, client.RbacV1(), cached, binding); err != nil {
			return err
		}
	}
	registered := meta.IsStatusConditionTrue(addon.Status.Conditions, addonv1beta1.ManagedClusterAddOnRegistrationApplied)
	if apierrors.IsNotFound(err) && !registered {
		_, err := client.RbacV1().RoleBindings(binding.Namespace).Create(ctx, binding, metav1.CreateOptions{})
		if err == nil {
			return nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("apply role binding %s: %w", klog.KObj(binding), err)
		}
		// The cache does not have it yet.
	}
	recorder := events.NewRecorder(client.CoreV1().Events(addon.Namespace), manifests.ControllerName, &corev1.ObjectReference{
		APIVersion: addonv1beta1.GroupVersion.String(), Kind: "ManagedClusterAddOn",
		Namespace: addon.Namespace, Name: addon.Name, UID: addon.UID,
	}, now).WithContext(ctx)
	if _, _, err := resourceapply.ApplyRoleBinding(ctx, client.RbacV1(), recorder, binding); err != nil {
		return fmt.Errorf("apply role binding %s: %w", klog.KObj(binding), err)
	}
	return nil
}

// removeBinding deletes a RoleBinding. It sends no request when the cache does not have it.
func removeBinding(ctx context.Context, client rbacclient.RbacV1Interface, cache rbaclisters.RoleBindingLister, namespace, name string) error {
	cached, err := cache.RoleBindings(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up role binding %s/%s: %w", namespace, name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err = client.RoleBindings(namespace).Delete(ctx, name, *metav1.NewPreconditionDeleteOptions(string(cached.UID)))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete role binding %s/%s: %w", namespace, name, err)
	}
	return nil
}

// removeFormer deletes a binding to another role, because a roleRef cannot be changed,
// and the agent's Role to which former versions of the controller bound. Before that, a dry
// run checks that the controller may create the wanted binding: without that right
// all agents would lose access.
func removeFormer(ctx context.Context, client rbacclient.RbacV1Interface, former, wanted *rbacv1.RoleBinding) error {
	_, err := client.RoleBindings(wanted.Namespace).Create(ctx, wanted, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("bind %s to ClusterRole %s: %w: apply the controller's RBAC of this version", klog.KObj(wanted), wanted.RoleRef.Name, err)
	}
	if wanted.Name == manifests.HubRole {
		err = client.Roles(wanted.Namespace).Delete(ctx, manifests.HubRole, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete role %s of a former version: %w", klog.KObj(wanted), err)
		}
	}
	// With the UID as precondition, a binding that the cache does not have yet stays.
	err = client.RoleBindings(wanted.Namespace).Delete(ctx, former.Name, *metav1.NewPreconditionDeleteOptions(string(former.UID)))
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete role binding %s to %s %s: %w", klog.KObj(former), former.RoleRef.Kind, former.RoleRef.Name, err)
	}
	return nil
}
