package controller

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	kubeinformers "k8s.io/client-go/informers"
	certificateinformers "k8s.io/client-go/informers/certificates/v1"
	rbacinformers "k8s.io/client-go/informers/rbac/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonclient "open-cluster-management.io/api/client/addon/clientset/versioned"
	addoninformers "open-cluster-management.io/api/client/addon/informers/externalversions"
	addoninformersv1beta1 "open-cluster-management.io/api/client/addon/informers/externalversions/addon/v1beta1"
	clusterclient "open-cluster-management.io/api/client/cluster/clientset/versioned"
	clusterinformers "open-cluster-management.io/api/client/cluster/informers/externalversions"
	clusterinformersv1 "open-cluster-management.io/api/client/cluster/informers/externalversions/cluster/v1"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	workinformers "open-cluster-management.io/api/client/work/informers/externalversions"
	workinformersv1 "open-cluster-management.io/api/client/work/informers/externalversions/work/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/addon-framework/pkg/index"
	"open-cluster-management.io/addon-framework/pkg/utils"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon"
	"open-cluster-management.io/helloworld-addon/pkg/hub/frame"
	"open-cluster-management.io/helloworld-addon/pkg/hub/stored"
	"open-cluster-management.io/helloworld-addon/pkg/hub/turns"
)

const (
	// resyncPeriod is addon-framework's.
	resyncPeriod = 10 * time.Minute

	// cacheTimeout bounds the first sync of the caches. The framework exits the process
	// after 10 minutes; before that, Run returns an error that names what is missing.
	cacheTimeout = 5 * time.Minute
)

// clients are the clients of the hub.
type clients struct {
	kube    kubernetes.Interface
	addon   addonclient.Interface
	cluster clusterclient.Interface
	work    workclient.Interface
	dynamic dynamic.Interface
	// metadata reads ConfigMapMirrors without their status.
	metadata metadata.Interface
	// usesStored is set to read and write ManagedClusterAddOns in v1alpha1, which is stored.
	usesStored bool
}

// newClients returns the clients of a hub.
func newClients(hub *frame.Hub) (*clients, error) {
	var errs [6]error
	config := hub.Config
	c := clients{usesStored: stored.InV1alpha1(hub.Resources[addonv1beta1.GroupVersion.String()])}
	c.kube, errs[0] = kubernetes.NewForConfig(config)
	c.addon, errs[1] = addonclient.NewForConfig(config)
	c.cluster, errs[2] = clusterclient.NewForConfig(config)
	c.work, errs[3] = workclient.NewForConfig(config)
	c.dynamic, errs[4] = dynamic.NewForConfig(config)
	c.metadata, errs[5] = metadata.NewForConfig(config)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("create the clients of the hub: %w", err)
	}
	return &c, nil
}

// with returns the clients, whose writes of ManagedClusterAddOns are sent in the stored
// version and recorded for order.
func (c clients) with(order *turns.Turns) *clients {
	if c.usesStored {
		c.addon = stored.Client(c.addon)
	}
	c.addon = order.Client(c.addon)
	return &c
}

// informers are the informers of addon-framework's controllers and of the add-on. They
// replace those of addonmanager.New(config).Start, which cannot be wrapped, and which
// watch every add-on of every cluster: with 20 add-ons, 20 times as many objects.
type informers struct {
	kube kubeinformers.SharedInformerFactory
	// replicaSet has the RoleBindings of ConfigMapReplicaSets: a factory has one informer for a kind.
	replicaSet kubeinformers.SharedInformerFactory
	addon      addoninformers.SharedInformerFactory
	cluster    clusterinformers.SharedInformerFactory
	work       workinformers.SharedInformerFactory
	dynamic    dynamicinformer.DynamicSharedInformerFactory
	// metadata is of ConfigMapMirrors. It needs no resync: that of the add-ons queues each cluster.
	metadata metadatainformer.SharedInformerFactory
}

// newInformers returns the informers, and wraps each one whose events the framework
// filters. A factory creates one informer for a type and keeps it, so the framework
// gets the wrapped one. The configs' informer is not wrapped, because its handlers
// handle tombstones.
func newInformers(c *clients, wrap func(cache.SharedIndexInformer) cache.SharedIndexInformer) *informers {
	i := &informers{
		kube:       kubeinformers.NewSharedInformerFactoryWithOptions(c.kube, resyncPeriod, kubeinformers.WithTransform(slim)),
		replicaSet: kubeinformers.NewSharedInformerFactoryWithOptions(c.kube, resyncPeriod, kubeinformers.WithTransform(slim)),
		addon:      addoninformers.NewSharedInformerFactoryWithOptions(c.addon, resyncPeriod, addoninformers.WithTransform(slim)),
		cluster:    clusterinformers.NewSharedInformerFactoryWithOptions(c.cluster, resyncPeriod, clusterinformers.WithTransform(slim)),
		work:       workinformers.NewSharedInformerFactoryWithOptions(c.work, resyncPeriod, workinformers.WithTransform(slim)),
		dynamic:    dynamicinformer.NewDynamicSharedInformerFactory(c.dynamic, resyncPeriod),
		metadata:   metadatainformer.NewFilteredSharedInformerFactory(c.metadata, 0, metav1.NamespaceAll, named(manifests.AddonName)),
	}
	i.watchKube(wrap)
	i.watchClusters(wrap)
	i.watchAddOns(c.usesStored, wrap)
	i.watchWorks(wrap)
	// SetTransform fails only on an informer that has been started.
	utilruntime.HandleError(i.dynamic.ForResource(utils.AddOnDeploymentConfigGVR).Informer().SetTransform(slim))
	utilruntime.HandleError(i.metadata.ForResource(mirrorResource).Informer().SetTransform(slim))
	return i
}

// ofAddon selects the objects that OCM's label assigns to this add-on.
func ofAddon(options *metav1.ListOptions) {
	options.LabelSelector = labels.Set{addonv1beta1.AddonLabelKey: manifests.AddonName}.String()
}

// named selects the objects with one name in all namespaces. With this field selector,
// RBAC by resourceNames allows list and watch.
// https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources
func named(name string) func(*metav1.ListOptions) {
	return func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	}
}

func (i *informers) watchKube(wrap func(cache.SharedIndexInformer) cache.SharedIndexInformer) {
	i.kube.InformerFor(&certificatesv1.CertificateSigningRequest{}, func(c kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return copied{wrap(certificateinformers.NewFilteredCertificateSigningRequestInformer(c, resync,
			cache.Indexers{requestsByCluster: requestCluster}, ofAddon))}
	})
	for role, factory := range map[string]kubeinformers.SharedInformerFactory{manifests.HubRole: i.kube, manifests.ReplicaSetRole: i.replicaSet} {
		factory.InformerFor(&rbacv1.RoleBinding{}, func(c kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
			return rbacinformers.NewFilteredRoleBindingInformer(c, metav1.NamespaceAll, resync, cache.Indexers{
				cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
			}, named(role))
		})
	}
}

func (i *informers) watchClusters(wrap func(cache.SharedIndexInformer) cache.SharedIndexInformer) {
	i.cluster.InformerFor(&clusterv1.ManagedCluster{}, func(c clusterclient.Interface, resync time.Duration) cache.SharedIndexInformer {
		return wrap(clusterinformersv1.NewManagedClusterInformer(c, resync, cache.Indexers{}))
	})
}

// watchAddOns creates the informers of this add-on's objects, with the framework's
// indexes.
func (i *informers) watchAddOns(usesStored bool, wrap func(cache.SharedIndexInformer) cache.SharedIndexInformer) {
	i.addon.InformerFor(&addonv1beta1.ManagedClusterAddOn{}, func(c addonclient.Interface, resync time.Duration) cache.SharedIndexInformer {
		indexers := cache.Indexers{
			cache.NamespaceIndex:                 cache.MetaNamespaceIndexFunc,
			index.ManagedClusterAddonByNamespace: index.IndexManagedClusterAddonByNamespace,
			index.AddonByConfig:                  index.IndexAddonByConfig,
		}
		if usesStored {
			return wrap(cache.NewSharedIndexInformer(stored.AddOns(c, named(manifests.AddonName)), &addonv1beta1.ManagedClusterAddOn{}, resync, indexers))
		}
		return wrap(addoninformersv1beta1.NewFilteredManagedClusterAddOnInformer(c, metav1.NamespaceAll, resync, indexers, named(manifests.AddonName)))
	})
	i.addon.InformerFor(&addonv1beta1.ClusterManagementAddOn{}, func(c addonclient.Interface, resync time.Duration) cache.SharedIndexInformer {
		return wrap(addoninformersv1beta1.NewFilteredClusterManagementAddOnInformer(c, resync, cache.Indexers{
			index.ClusterManagementAddonByConfig: index.IndexClusterManagementAddonByConfig,
		}, named(manifests.AddonName)))
	})
}

func (i *informers) watchWorks(wrap func(cache.SharedIndexInformer) cache.SharedIndexInformer) {
	i.work.InformerFor(&workv1.ManifestWork{}, func(c workclient.Interface, resync time.Duration) cache.SharedIndexInformer {
		return wrap(workinformersv1.NewFilteredManifestWorkInformer(c, metav1.NamespaceAll, resync, cache.Indexers{
			cache.NamespaceIndex:                cache.MetaNamespaceIndexFunc,
			index.ManifestWorkByAddon:           index.IndexManifestWorkByAddon,
			index.ManifestWorkByHostedAddon:     index.IndexManifestWorkByHostedAddon,
			index.ManifestWorkHookByHostedAddon: index.IndexManifestWorkHookByHostedAddon,
		}, ofAddon))
	})
}

// cache returns the cache from which the add-on reads.
func (i *informers) cache() *addon.Cache {
	return &addon.Cache{
		ManagementAddOns:       i.addon.Addon().V1beta1().ClusterManagementAddOns().Lister(),
		Works:                  i.work.Work().V1().ManifestWorks().Informer().GetIndexer(),
		Configs:                i.dynamic.ForResource(utils.AddOnDeploymentConfigGVR).Lister(),
		RoleBindings:           i.kube.Rbac().V1().RoleBindings().Lister(),
		ReplicaSetRoleBindings: i.replicaSet.Rbac().V1().RoleBindings().Lister(),
	}
}

// start starts the informers, which end with ctx.
func (i *informers) start(ctx context.Context) {
	i.kube.Start(ctx.Done())
	i.replicaSet.Start(ctx.Done())
	i.addon.Start(ctx.Done())
	i.cluster.Start(ctx.Done())
	i.work.Start(ctx.Done())
	i.dynamic.Start(ctx.Done())
	i.metadata.Start(ctx.Done())
}

// awaitSync returns when all caches have synced. It returns nil when ctx ends before.
func (i *informers) awaitSync(ctx context.Context, timeout time.Duration) error {
	waitCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var missing []string
	for _, wait := range []func(<-chan struct{}) map[reflect.Type]bool{
		i.kube.WaitForCacheSync, i.replicaSet.WaitForCacheSync, i.addon.WaitForCacheSync, i.cluster.WaitForCacheSync, i.work.WaitForCacheSync,
	} {
		for object, synced := range wait(waitCtx.Done()) {
			if !synced {
				missing = append(missing, object.Elem().Name())
			}
		}
	}
	for _, wait := range []func(<-chan struct{}) map[schema.GroupVersionResource]bool{i.dynamic.WaitForCacheSync, i.metadata.WaitForCacheSync} {
		for resource, synced := range wait(waitCtx.Done()) {
			if !synced {
				missing = append(missing, resource.Resource)
			}
		}
	}
	if len(missing) == 0 || ctx.Err() != nil {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("sync the caches within %s: could not read %s: check the API server, the controller's rights, "+
		"and the conversion webhook of the add-on API", timeout, strings.Join(missing, ", "))
}

// shutdown waits until the informers and their handlers have ended.
func (i *informers) shutdown() {
	i.kube.Shutdown()
	i.replicaSet.Shutdown()
	i.addon.Shutdown()
	i.cluster.Shutdown()
	i.work.Shutdown()
	i.dynamic.Shutdown()
	i.metadata.Shutdown()
}

// slim is the informers' transform: it returns the part of an object that the cache
// keeps. Its argument may be slim already.
//
// It drops managed fields. addon-framework writes a whole ManagedClusterAddOn from the
// cache when it changes finalizers; the API server then keeps its managed fields. Such
// a write would remove everything else that slim dropped, for example the annotation
// kubectl.kubernetes.io/last-applied-configuration, so the rest stays.
//
// Of a ManagedCluster, which the controller never writes, only what is read stays.
func slim(obj any) (any, error) {
	if cluster, ok := obj.(*clusterv1.ManagedCluster); ok {
		return slimCluster(cluster), nil
	}
	if object, err := meta.Accessor(obj); err == nil {
		object.SetManagedFields(nil)
	}
	return obj, nil
}

// slimCluster keeps the cluster's metadata, whether it is accepted, its condition
// Available, and the registries of its images.
func slimCluster(cluster *clusterv1.ManagedCluster) *clusterv1.ManagedCluster {
	slimmed := &clusterv1.ManagedCluster{
		TypeMeta: cluster.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Name:              cluster.Name,
			UID:               cluster.UID,
			ResourceVersion:   cluster.ResourceVersion,
			DeletionTimestamp: cluster.DeletionTimestamp,
		},
		Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: cluster.Spec.HubAcceptsClient},
	}
	if registries, ok := cluster.Annotations[clusterv1.ClusterImageRegistriesAnnotationKey]; ok {
		slimmed.Annotations = map[string]string{clusterv1.ClusterImageRegistriesAnnotationKey: registries}
	}
	if available := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable); available != nil {
		slimmed.Status.Conditions = []metav1.Condition{*available}
	}
	return slimmed
}
