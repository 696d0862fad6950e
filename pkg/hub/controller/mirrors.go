package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonlisters "open-cluster-management.io/api/client/addon/listers/addon/v1beta1"
	"open-cluster-management.io/sdk-go/pkg/basecontroller/factory"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
)

var mirrorResource = v1alpha1.GroupVersion.WithResource("configmapmirrors")

// mirrorFor returns the ConfigMapMirror to create for a ManagedClusterAddOn, nil for none. addOn is
// nil if there is none. exists reports whether the cluster has a ConfigMapMirror. One that exists is
// never changed. Kubernetes' garbage collector deletes that of a deleted add-on; then the next one is
// created.
func mirrorFor(addOn *addonv1beta1.ManagedClusterAddOn, exists bool) *unstructured.Unstructured {
	if addOn == nil || addOn.DeletionTimestamp != nil || exists {
		return nil
	}
	mirror := &unstructured.Unstructured{}
	mirror.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ConfigMapMirror"))
	mirror.SetNamespace(addOn.Namespace)
	mirror.SetName(manifests.AddonName)
	mirror.SetLabels(map[string]string{"app.kubernetes.io/part-of": "helloworld-addon"})
	mirror.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: addonv1beta1.GroupVersion.String(), Kind: "ManagedClusterAddOn", Name: addOn.Name, UID: addOn.UID}})
	return mirror
}

// mirrorCreator creates the ConfigMapMirror of each cluster on which the add-on is enabled
// (docs/design.md#rule-12-mirror-status).
type mirrorCreator struct {
	client  dynamic.Interface
	addOns  addonlisters.ManagedClusterAddOnLister
	mirrors cache.Indexer
	clock   clock.PassiveClock

	mu sync.Mutex
	// created are the objects of clusters that were created during the last cacheLag.
	created map[string]creation
}

// creation is the owner of a created object, and when it was created.
type creation struct {
	owner types.UID
	at    time.Time
}

// cacheLag is how long a cache may be behind. Until then no other object is created for an add-on: the
// mirrors' cache may not show the object yet, though the add-on changes several times while it is
// being enabled. And the add-ons' cache may show an add-on that was deleted. The garbage collector deletes
// its object at once, so that the two would create and delete in a loop.
const cacheLag = 10 * time.Second

func newMirrorCreator(client dynamic.Interface, i *informers, now clock.PassiveClock) factory.Controller {
	addOns := i.addon.Addon().V1beta1().ManagedClusterAddOns()
	mirrors := i.metadata.ForResource(mirrorResource).Informer()
	c := &mirrorCreator{client: client, addOns: addOns.Lister(), mirrors: mirrors.GetIndexer(), clock: now, created: map[string]creation{}}
	return factory.New().WithInformersQueueKeysFunc(namespaceOf, addOns.Informer(), mirrors).WithSync(c.sync).ToController("mirrors")
}

// namespaceOf returns the name of an object's cluster.
func namespaceOf(obj runtime.Object) []string {
	object, err := meta.Accessor(obj)
	if err != nil {
		return nil
	}
	return []string{object.GetNamespace()}
}

func (c *mirrorCreator) sync(ctx context.Context, syncCtx factory.SyncContext, cluster string) error {
	addOn, err := c.addOns.ManagedClusterAddOns(cluster).Get(manifests.AddonName)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("look up ManagedClusterAddOn %s/%s: %w", cluster, manifests.AddonName, err)
	}
	_, exists, err := c.mirrors.GetByKey(cluster + "/" + manifests.AddonName)
	if err != nil {
		return fmt.Errorf("look up ConfigMapMirror %s/%s: %w", cluster, manifests.AddonName, err)
	}
	mirror := mirrorFor(addOn, exists)
	if wait := c.lag(cluster, addOn); mirror == nil {
		return nil
	} else if wait > 0 {
		syncCtx.Queue().AddAfter(cluster, wait)
		return nil
	}
	_, err = c.client.Resource(mirrorResource).Namespace(cluster).Create(ctx, mirror, metav1.CreateOptions{})
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		c.mu.Lock()
		c.created[cluster] = creation{addOn.UID, c.clock.Now()}
		c.mu.Unlock()
		syncCtx.Queue().AddAfter(cluster, cacheLag)
		return nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		// The cache is behind: a watch event of the add-on's deletion will follow.
		return nil
	default:
		return fmt.Errorf("create ConfigMapMirror %s/%s: %w", cluster, manifests.AddonName, err)
	}
}

// lag returns how long no object must be created for an add-on. It forgets a creation after cacheLag.
func (c *mirrorCreator) lag(cluster string, addOn *addonv1beta1.ManagedClusterAddOn) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.created[cluster]
	wait := cacheLag - c.clock.Since(last.at)
	if wait <= 0 {
		delete(c.created, cluster)
	}
	if addOn == nil || addOn.UID != last.owner {
		return 0
	}
	return max(0, wait)
}
