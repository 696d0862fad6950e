package controller

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonclientv1beta1 "open-cluster-management.io/api/client/addon/clientset/versioned/typed/addon/v1beta1"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	workclientv1 "open-cluster-management.io/api/client/work/clientset/versioned/typed/work/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// ownerCheckTimeout bounds the question whether a ManifestWork's owner is there.
const ownerCheckTimeout = 10 * time.Second

// ownedWorks is a client that creates no ManifestWork for a ManagedClusterAddOn
// that is gone.
//
// addon-framework creates works by what its cache says. While the cache is
// behind, because the watch was interrupted, it may name an add-on that has been
// deleted since. Kubernetes' garbage collector deletes such a work at once, the
// framework sees that and creates it again, and so on until the cache has caught
// up, with the agent installed and removed each time. So the hub is asked, once
// for each work that is created: a work is created once for each cluster, or
// after somebody has deleted it.
type ownedWorks struct {
	workclient.Interface
	addons addonclientv1beta1.ManagedClusterAddOnsGetter
}

// WorkV1 returns the client of the API's version v1.
func (c ownedWorks) WorkV1() workclientv1.WorkV1Interface {
	return ownedWorksV1{c.Interface.WorkV1(), c.addons}
}

type ownedWorksV1 struct {
	workclientv1.WorkV1Interface
	addons addonclientv1beta1.ManagedClusterAddOnsGetter
}

// ManifestWorks returns the client of a namespace's works.
func (c ownedWorksV1) ManifestWorks(namespace string) workclientv1.ManifestWorkInterface {
	return ownedWorksOf{c.WorkV1Interface.ManifestWorks(namespace), c.addons.ManagedClusterAddOns(namespace)}
}

type ownedWorksOf struct {
	workclientv1.ManifestWorkInterface
	addons addonGetter
}

// addonGetter reads a ManagedClusterAddOn from the hub, not from a cache.
type addonGetter interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*addonv1beta1.ManagedClusterAddOn, error)
}

// Create creates the work, unless the add-on that owns it is gone, which is an
// error, after which the framework tries again. When the hub cannot tell, the
// cache is believed: the garbage collector, which asks the same API, cannot tell
// either and deletes nothing, and a work that somebody deleted comes back.
func (c ownedWorksOf) Create(ctx context.Context, work *workv1.ManifestWork, options metav1.CreateOptions) (*workv1.ManifestWork, error) {
	if owner := owningAddon(work); owner != nil {
		live, err := c.read(ctx, owner.Name)
		if err != nil {
			klog.FromContext(ctx).Error(err, "Could not check that the owner of a ManifestWork is still there; believing the cache",
				"work", klog.KObj(work), "addon", owner.Name)
		} else if err := checkOwner(work, owner, live); err != nil {
			// The framework drops this error for that of its next request, which
			// writes the status of the add-on that is gone.
			klog.FromContext(ctx).Info("Not creating a ManifestWork", "work", klog.KObj(work), "reason", err.Error())
			return nil, err
		}
	}
	return c.ManifestWorkInterface.Create(ctx, work, options)
}

// read returns the add-on, or nil when the hub says that there is none.
func (c ownedWorksOf) read(ctx context.Context, name string) (*addonv1beta1.ManagedClusterAddOn, error) {
	ctx, cancel := context.WithTimeout(ctx, ownerCheckTimeout)
	defer cancel()
	addOn, err := c.addons.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return addOn, err
}

// owningAddon returns the reference to the ManagedClusterAddOn that owns the
// work, or nil. Works for a hosting cluster have none.
func owningAddon(work *workv1.ManifestWork) *metav1.OwnerReference {
	owner := metav1.GetControllerOf(work)
	if owner == nil || owner.Kind != "ManagedClusterAddOn" {
		return nil
	}
	return owner
}

// checkOwner returns an error when live, the add-on of the owner's name on the
// hub (nil: there is none), is not the owner.
func checkOwner(work *workv1.ManifestWork, owner *metav1.OwnerReference, live *addonv1beta1.ManagedClusterAddOn) error {
	if live != nil && live.UID == owner.UID {
		return nil
	}
	now := "there is none now"
	if live != nil {
		now = "there is another one now, with uid " + string(live.UID)
	}
	return fmt.Errorf("create ManifestWork %s/%s for ManagedClusterAddOn %s with uid %s, which is gone: %s: waiting for the cache to catch up",
		work.Namespace, work.Name, owner.Name, owner.UID, now)
}
