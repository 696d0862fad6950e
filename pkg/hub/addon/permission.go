package addon

import (
	"context"
	"fmt"
	"time"

	"github.com/openshift/library-go/pkg/operator/events"
	"github.com/openshift/library-go/pkg/operator/resource/resourceapply"
	corev1 "k8s.io/api/core/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
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

// applyHubRBAC makes the Role and the RoleBinding in the cluster's namespace on
// the hub what they should be, and writes nothing when they are. What it writes
// is an event of the ManagedClusterAddOn.
//
// addon-framework's own helper is not used: it leaves an owner reference to a
// ManagedClusterAddOn that has been deleted since, so that a Role which it finds
// just before Kubernetes collects it is missing for minutes after the add-on is
// enabled again.
func applyHubRBAC(ctx context.Context, client HubClient, now clock.PassiveClock, addon *addonv1beta1.ManagedClusterAddOn) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	recorder := events.NewRecorder(client.CoreV1().Events(addon.Namespace), manifests.ControllerName, &corev1.ObjectReference{
		APIVersion: addonv1beta1.GroupVersion.String(), Kind: "ManagedClusterAddOn",
		Namespace: addon.Namespace, Name: addon.Name, UID: addon.UID,
	}, now).WithContext(ctx)

	role := HubRole(addon)
	if _, _, err := resourceapply.ApplyRole(ctx, client.RbacV1(), recorder, role); err != nil {
		return fmt.Errorf("apply role %s: %w", klog.KObj(role), err)
	}
	binding := HubRoleBinding(addon)
	if _, _, err := resourceapply.ApplyRoleBinding(ctx, client.RbacV1(), recorder, binding); err != nil {
		return fmt.Errorf("apply role binding %s: %w", klog.KObj(binding), err)
	}
	return nil
}
