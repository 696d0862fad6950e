package controller

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonclientv1beta1 "open-cluster-management.io/api/client/addon/clientset/versioned/typed/addon/v1beta1"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	workclientv1 "open-cluster-management.io/api/client/work/clientset/versioned/typed/work/v1"
	worklisters "open-cluster-management.io/api/client/work/listers/work/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/helloworld-addon/pkg/hub/addon/install"
	"open-cluster-management.io/helloworld-addon/pkg/hub/rollout/plan"
)

// ownerCheckTimeout bounds the request for a ManifestWork's owner.
const ownerCheckTimeout = 10 * time.Second

// works is addon-framework's client of ManifestWorks. It changes three things.
//
// It does not write the annotation by which OCM's add-on manager takes a cluster for
// done. The framework writes it with the work, and OCM then checks only that the
// Deployment exists, so that a rollout would go on over agents that do not start.
// Package rollout writes it when the agent runs (docs/design.md#rollout).
//
// It creates no work for a ManagedClusterAddOn that is gone. The framework creates works
// from its cache, which after an interrupted watch may still have a deleted add-on. The
// garbage collector then deletes the work, the framework creates it again, and so on
// until the cache has caught up, each time with the agent installed and removed. So this
// client reads the add-on from the hub before it creates a work, unless the hub has just
// written it. A work is created only once for a cluster, and after a user has deleted it.
//
// It creates works with their objects in the order in which they need each other
// (install.InOrder).
type works struct {
	workclient.Interface
	addons addonclientv1beta1.ManagedClusterAddOnsGetter
	cached worklisters.ManifestWorkLister
	// confirmed reports whether the hub has just written the add-on of the namespace with
	// this UID.
	confirmed func(namespace string, uid types.UID) bool
}

// WorkV1 returns the client of the API's version v1.
func (c works) WorkV1() workclientv1.WorkV1Interface {
	return worksV1{c.Interface.WorkV1(), c}
}

type worksV1 struct {
	workclientv1.WorkV1Interface
	works works
}

// ManifestWorks returns the client of a namespace's works.
func (c worksV1) ManifestWorks(namespace string) workclientv1.ManifestWorkInterface {
	return worksIn{c.WorkV1Interface.ManifestWorks(namespace), c.works.addons.ManagedClusterAddOns(namespace),
		c.works.cached.ManifestWorks(namespace), c.works.confirmed}
}

type worksIn struct {
	workclientv1.ManifestWorkInterface
	addons    addonGetter
	cached    worklisters.ManifestWorkNamespaceLister
	confirmed func(namespace string, uid types.UID) bool
}

// addonGetter reads a ManagedClusterAddOn from the hub, not from a cache.
type addonGetter interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*addonv1beta1.ManagedClusterAddOn, error)
}

// Create creates the work without the annotation, and with its objects in the order in
// which they need each other. It returns an error when the add-on
// that owns the work is gone; the framework then retries. When the hub does not answer,
// it trusts the cache: the garbage collector reads the same API, and deletes nothing
// without it.
func (c worksIn) Create(ctx context.Context, work *workv1.ManifestWork, options metav1.CreateOptions) (*workv1.ManifestWork, error) {
	if owner := owningAddon(work); owner != nil && !c.confirmed(work.Namespace, owner.UID) {
		live, err := c.read(ctx, owner.Name)
		if err != nil {
			klog.FromContext(ctx).Error(err, "Failed to check the owner of a ManifestWork, trusting the cache",
				"work", klog.KObj(work), "addon", owner.Name)
		} else if err := checkOwner(work, owner, live); err != nil {
			// Logged here, because the framework overwrites this error with the one of its
			// next request, which writes the status of the deleted add-on.
			klog.FromContext(ctx).Info("Skipped creating a ManifestWork", "work", klog.KObj(work), "reason", err.Error())
			return nil, err
		}
	}
	return c.ManifestWorkInterface.Create(ctx, install.InOrder(plan.HoldNew(work)), options)
}

// Patch patches the work without the annotation. It sends no patch that changes nothing
// else.
func (c worksIn) Patch(ctx context.Context, name string, kind types.PatchType, patch []byte, options metav1.PatchOptions,
	subresources ...string) (*workv1.ManifestWork, error) {
	held, changes, err := plan.Hold(patch)
	if err != nil {
		return nil, err
	}
	if changes {
		return c.ManifestWorkInterface.Patch(ctx, name, kind, held, options, subresources...)
	}
	work, err := c.cached.Get(name)
	return work.DeepCopy(), err
}

// read returns the add-on, or nil when it does not exist.
func (c worksIn) read(ctx context.Context, name string) (*addonv1beta1.ManagedClusterAddOn, error) {
	ctx, cancel := context.WithTimeout(ctx, ownerCheckTimeout)
	defer cancel()
	addOn, err := c.addons.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return addOn, err
}

// owningAddon returns the reference to the ManagedClusterAddOn that owns the work, or
// nil. Works for a hosting cluster have no owner.
func owningAddon(work *workv1.ManifestWork) *metav1.OwnerReference {
	owner := metav1.GetControllerOf(work)
	if owner == nil || owner.Kind != "ManagedClusterAddOn" {
		return nil
	}
	return owner
}

// checkOwner returns an error when live, the add-on on the hub with the owner's name or
// nil, is not the owner.
func checkOwner(work *workv1.ManifestWork, owner *metav1.OwnerReference, live *addonv1beta1.ManagedClusterAddOn) error {
	if live != nil && live.UID == owner.UID {
		return nil
	}
	now := "it does not exist"
	if live != nil {
		now = "it has uid " + string(live.UID) + " now"
	}
	return fmt.Errorf("create ManifestWork %s/%s for ManagedClusterAddOn %s with uid %s, which is gone: %s; waiting for the cache",
		work.Namespace, work.Name, owner.Name, owner.UID, now)
}
