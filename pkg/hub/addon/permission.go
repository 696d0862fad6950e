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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// requestTimeout bounds the requests of one call of the framework to us.
const requestTimeout = 10 * time.Second

// HubClient writes the agents' rights on the hub, and the events that tell of it.
type HubClient interface {
	RbacV1() rbacclient.RbacV1Interface
	CoreV1() coreclient.CoreV1Interface
}

// applyHubRBAC makes the RoleBinding in the cluster's namespace on the hub what
// it should be, and makes no request when the cache has it so. What it writes is
// an event of the ManagedClusterAddOn.
//
// addon-framework's own helper is not used: it leaves an owner reference to a
// ManagedClusterAddOn that has been deleted since, so that a RoleBinding which it
// finds just before Kubernetes collects it is missing for minutes after the
// add-on is enabled again.
func applyHubRBAC(ctx context.Context, client HubClient, cache rbaclisters.RoleBindingLister, now clock.PassiveClock,
	addon *addonv1beta1.ManagedClusterAddOn) error {
	binding := HubRoleBinding(addon)
	cached, err := cache.RoleBindings(binding.Namespace).Get(binding.Name)
	switch {
	case err == nil && boundAs(cached, binding):
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
	recorder := events.NewRecorder(client.CoreV1().Events(addon.Namespace), manifests.ControllerName, &corev1.ObjectReference{
		APIVersion: addonv1beta1.GroupVersion.String(), Kind: "ManagedClusterAddOn",
		Namespace: addon.Namespace, Name: addon.Name, UID: addon.UID,
	}, now).WithContext(ctx)
	if _, _, err := resourceapply.ApplyRoleBinding(ctx, client.RbacV1(), recorder, binding); err != nil {
		return fmt.Errorf("apply role binding %s: %w", klog.KObj(binding), err)
	}
	return nil
}

// removeFormer removes a binding to another role, for a roleRef cannot be
// changed, and the Role to which former versions of the controller bound. It
// asks first whether the API server would let the controller create the wanted
// binding: without that right all agents would lose access.
func removeFormer(ctx context.Context, client rbacclient.RbacV1Interface, former, wanted *rbacv1.RoleBinding) error {
	_, err := client.RoleBindings(wanted.Namespace).Create(ctx, wanted, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("bind %s to ClusterRole %s: %w: apply the controller's RBAC of this version", klog.KObj(wanted), wanted.RoleRef.Name, err)
	}
	err = client.Roles(wanted.Namespace).Delete(ctx, manifests.HubRole, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete role %s of a former version: %w", klog.KObj(wanted), err)
	}
	// The UID keeps a binding that has been replaced since the cache was filled.
	err = client.RoleBindings(wanted.Namespace).Delete(ctx, former.Name, *metav1.NewPreconditionDeleteOptions(string(former.UID)))
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete role binding %s to %s %s: %w", klog.KObj(former), former.RoleRef.Kind, former.RoleRef.Name, err)
	}
	return nil
}
