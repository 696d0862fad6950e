package controller

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonclientv1beta1 "open-cluster-management.io/api/client/addon/clientset/versioned/typed/addon/v1beta1"
	addoninformersv1beta1 "open-cluster-management.io/api/client/addon/informers/externalversions/addon/v1beta1"
	addonlisters "open-cluster-management.io/api/client/addon/listers/addon/v1beta1"
	"open-cluster-management.io/sdk-go/pkg/basecontroller/factory"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/turns"
)

// registrar reconciles a cluster with two controllers of addon-framework in one turn, and
// sends what they write of the ManagedClusterAddOn's status as one patch. Of a new add-on
// they write three: the supported configs, the registration, and the generation of each
// config.
type registrar struct {
	addOns addonlisters.ManagedClusterAddOnLister
	client addonclientv1beta1.ManagedClusterAddOnsGetter
	// may reports whether to register an add-on now (addon.AgentAddon.MayRegister).
	may                 func(*addonv1beta1.ManagedClusterAddOn) bool
	order               *turns.Turns
	register, configure factory.Controller
}

func (r *registrar) sync(ctx context.Context, key string) error {
	cluster, _, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil //nolint:nilerr // the framework ignores such a key, too
	}
	addOn, err := r.addOns.ManagedClusterAddOns(cluster).Get(manifests.AddonName)
	if apierrors.IsNotFound(err) || err == nil && !r.may(addOn) {
		return nil
	}
	if err != nil {
		return err
	}
	batch := r.order.Batch(cluster)
	steps := []factory.Controller{r.configure, r.register}
	if len(addOn.Status.SupportedConfigs) == 0 {
		// The framework writes the supported configs alone, and registers at the event of
		// that write.
		// https://github.com/open-cluster-management-io/addon-framework/blob/v1.3.0/pkg/addonmanager/controllers/registration/controller.go
		steps = append(steps, r.register)
	}
	var errs []error
	for _, step := range steps {
		errs = append(errs, step.Sync(ctx, step.SyncContext(), key))
	}
	return errors.Join(append(errs, batch.Flush(ctx, r.client.ManagedClusterAddOns(cluster)))...)
}

// batchedAddOns is an informer of ManagedClusterAddOns whose lister has what a batch holds
// back.
type batchedAddOns struct {
	addoninformersv1beta1.ManagedClusterAddOnInformer
	order *turns.Turns
}

// Lister returns the lister.
func (b batchedAddOns) Lister() addonlisters.ManagedClusterAddOnLister { return b.order.Lister() }
