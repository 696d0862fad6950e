package replicaset

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
)

// cacheTimeout bounds the first sync of the caches.
const cacheTimeout = 5 * time.Minute

// The indexes.
const (
	byUID       = "uid"       // sets by their UID; delivered ConfigMaps and revisions by that of their set
	bySource    = "source"    // sets by the name of a source
	byPlacement = "placement" // sets and PlacementDecisions by NAMESPACE/PLACEMENT
	byRevision  = "revision"  // revisions by their name in annotations and reports
)

// addOnResource are the ManagedClusterAddOns. Only their metadata is read.
var addOnResource = schema.GroupVersion(addonv1beta1.GroupVersion).WithResource("managedclusteraddons")

// caches holds the informers. Their transforms drop the fields that no plan reads.
type caches struct {
	sets cache.SharedIndexInformer
	// delivered has the ConfigMaps that carry a set's label, as deliveredObject.
	delivered cache.SharedIndexInformer
	// names has the metadata of all other ConfigMaps: those of sources, and those that are in the way. It lacks
	// those that are in every namespace, which cannot be a source.
	names      cache.SharedIndexInformer
	revisions  cache.SharedIndexInformer
	placements cache.SharedIndexInformer
	decisions  cache.SharedIndexInformer
	clusters   cache.SharedIndexInformer
	addOns     cache.SharedIndexInformer
	mirrors    cache.SharedIndexInformer
}

// newCaches returns the caches. They are empty until start.
func newCaches(c *clients) (*caches, error) {
	listed := func(selector string) func(*metav1.ListOptions) {
		return func(options *metav1.ListOptions) { options.LabelSelector = selector }
	}
	named := func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, manifests.AddonName).String()
	}
	every := func(*metav1.ListOptions) {}
	configMaps := c.kube.CoreV1().ConfigMaps(metav1.NamespaceAll)
	revisions := c.kube.AppsV1().ControllerRevisions(metav1.NamespaceAll)
	placements := c.cluster.ClusterV1beta1().Placements(metav1.NamespaceAll)
	decisions := c.cluster.ClusterV1beta1().PlacementDecisions(metav1.NamespaceAll)
	clusters := c.cluster.ClusterV1().ManagedClusters()
	metadataOf := func(resource schema.GroupVersionResource, tweak func(*metav1.ListOptions)) cache.SharedIndexInformer {
		return metadatainformer.NewFilteredMetadataInformer(c.metadata, resource, metav1.NamespaceAll, 0, cache.Indexers{}, tweak).Informer()
	}
	sets, mirrors := c.sets(metav1.NamespaceAll), c.mirrors(metav1.NamespaceAll)
	k := &caches{
		sets: informer(&v1alpha1.ConfigMapReplicaSet{}, sets.List, sets.Watch, every,
			cache.Indexers{byUID: uidOf, bySource: sourcesOf, byPlacement: placementsOf}),
		delivered: informer(&corev1.ConfigMap{}, configMaps.List, configMaps.Watch, listed(manifests.ReplicaSetUIDLabel),
			cache.Indexers{byUID: setUIDOf}),
		names: metadataOf(corev1.SchemeGroupVersion.WithResource("configmaps"), func(options *metav1.ListOptions) {
			options.LabelSelector = "!" + manifests.ReplicaSetUIDLabel
			options.FieldSelector = fields.AndSelectors(
				fields.OneTermNotEqualSelector(metav1.ObjectNameField, "kube-root-ca.crt"),
				fields.OneTermNotEqualSelector(metav1.ObjectNameField, "openshift-service-ca.crt")).String()
		}),
		revisions: informer(&appsv1.ControllerRevision{}, revisions.List, revisions.Watch, listed(manifests.ReplicaSetUIDLabel),
			cache.Indexers{byUID: setUIDOf, byRevision: revisionsOf}),
		placements: informer(&clusterv1beta1.Placement{}, placements.List, placements.Watch, every, nil),
		decisions: informer(&clusterv1beta1.PlacementDecision{}, decisions.List, decisions.Watch, every,
			cache.Indexers{byPlacement: placementOf}),
		clusters: informer(&clusterv1.ManagedCluster{}, clusters.List, clusters.Watch, every, nil),
		addOns:   metadataOf(addOnResource, named),
		mirrors:  informer(&v1alpha1.ConfigMapMirror{}, mirrors.List, mirrors.Watch, named, nil),
	}
	for informer, transform := range map[cache.SharedIndexInformer]cache.TransformFunc{
		k.sets: withoutFields, k.delivered: slimDelivered, k.names: slimMetadata, k.revisions: slimRevision, k.placements: withoutFields,
		k.decisions: withoutFields, k.clusters: slimCluster, k.addOns: slimMetadata, k.mirrors: slimMirror,
	} {
		if err := informer.SetTransform(transform); err != nil {
			return nil, fmt.Errorf("set up a cache of the hub: %w", err)
		}
	}
	return k, nil
}

// informer returns an informer of the objects that a client lists.
func informer[L runtime.Object](example runtime.Object, list func(context.Context, metav1.ListOptions) (L, error),
	watches func(context.Context, metav1.ListOptions) (watch.Interface, error), tweak func(*metav1.ListOptions), indexers cache.Indexers) cache.SharedIndexInformer {
	if indexers == nil {
		indexers = cache.Indexers{}
	}
	return cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			tweak(&options)
			return list(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			tweak(&options)
			return watches(ctx, options)
		},
	}, example, 0, indexers)
}

// all returns the informers by what they have.
func (k *caches) all() map[string]cache.SharedIndexInformer {
	return map[string]cache.SharedIndexInformer{
		"ConfigMapReplicaSets": k.sets, "ConfigMaps of sets": k.delivered, "ConfigMaps": k.names, "ControllerRevisions": k.revisions,
		"Placements": k.placements, "PlacementDecisions": k.decisions, "ManagedClusters": k.clusters, "ManagedClusterAddOns": k.addOns,
		"ConfigMapMirrors": k.mirrors,
	}
}

// awaitSync returns when all caches have synced, or ctx has ended.
func (k *caches) awaitSync(ctx context.Context, timeout time.Duration) error {
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var missing []string
	for what, informer := range k.all() {
		if !cache.WaitForCacheSync(waiting.Done(), informer.HasSynced) {
			missing = append(missing, what)
		}
	}
	if len(missing) == 0 || ctx.Err() != nil {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("sync the caches within %s: could not read %s: check the API server and the controller's rights", timeout, strings.Join(missing, ", "))
}

func uidOf(object any) ([]string, error) {
	return indexed(object, func(set *v1alpha1.ConfigMapReplicaSet) []string { return []string{string(set.UID)} })
}

func sourcesOf(object any) ([]string, error) {
	return indexed(object, func(set *v1alpha1.ConfigMapReplicaSet) (names []string) {
		for _, source := range set.Spec.ConfigMaps {
			names = append(names, source.Name)
		}
		return names
	})
}

func placementsOf(object any) ([]string, error) {
	return indexed(object, func(set *v1alpha1.ConfigMapReplicaSet) (names []string) {
		for _, ref := range set.Spec.PlacementRefs {
			names = append(names, set.Namespace+"/"+ref.Name)
		}
		return names
	})
}

func placementOf(object any) ([]string, error) {
	return indexed(object, func(decision *clusterv1beta1.PlacementDecision) []string {
		return []string{decision.Namespace + "/" + decision.Labels[clusterv1beta1.PlacementLabel]}
	})
}

func indexed[T any](object any, keys func(T) []string) ([]string, error) {
	typed, ok := object.(T)
	if !ok {
		return nil, fmt.Errorf("want a %T, got %T", typed, object)
	}
	return keys(typed), nil
}

func revisionsOf(object any) ([]string, error) {
	return indexed(object, func(revision *appsv1.ControllerRevision) []string {
		return []string{revision.Labels[manifests.RevisionAnnotation]}
	})
}

func setUIDOf(object any) ([]string, error) {
	if delivered, ok := object.(*deliveredObject); ok {
		return []string{delivered.common.Value().setUID}, nil
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, fmt.Errorf("index an object: %w", err)
	}
	return []string{accessor.GetLabels()[manifests.ReplicaSetUIDLabel]}, nil
}

// The transforms. Their argument may be transformed already.

func withoutFields(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

// slimMetadata keeps the names and versions of an object.
func slimMetadata(object any) (any, error) {
	partial, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: partial.Namespace, Name: partial.Name, UID: partial.UID, ResourceVersion: partial.ResourceVersion,
		DeletionTimestamp: partial.DeletionTimestamp}}, nil
}

// slimRevision drops the sources: a revision is read when it is compiled.
func slimRevision(object any) (any, error) {
	revision, ok := object.(*appsv1.ControllerRevision)
	if !ok {
		return object, nil
	}
	return &appsv1.ControllerRevision{TypeMeta: revision.TypeMeta, Revision: revision.Revision, ObjectMeta: metav1.ObjectMeta{
		Namespace: revision.Namespace, Name: revision.Name, UID: revision.UID, ResourceVersion: revision.ResourceVersion, Labels: revision.Labels,
		OwnerReferences: revision.OwnerReferences}}, nil
}

// slimCluster keeps what render sees of a cluster.
func slimCluster(object any) (any, error) {
	cluster, ok := object.(*clusterv1.ManagedCluster)
	if !ok {
		return object, nil
	}
	return &clusterv1.ManagedCluster{
		TypeMeta: cluster.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{Name: cluster.Name, UID: cluster.UID, ResourceVersion: cluster.ResourceVersion,
			Labels: cluster.Labels, Annotations: cluster.Annotations},
		Spec:   clusterv1.ManagedClusterSpec{ManagedClusterClientConfigs: clientURLs(cluster), Taints: cluster.Spec.Taints},
		Status: clusterv1.ManagedClusterStatus{ClusterClaims: cluster.Status.ClusterClaims, Version: cluster.Status.Version},
	}, nil
}

// clientURLs returns the URLs of a cluster, without their CA bundles.
func clientURLs(cluster *clusterv1.ManagedCluster) (urls []clusterv1.ClientConfig) {
	for _, config := range cluster.Spec.ManagedClusterClientConfigs {
		urls = append(urls, clusterv1.ClientConfig{URL: config.URL})
	}
	return urls
}

// get returns an object of a cache, or nil.
func get[T any](informer cache.SharedIndexInformer, namespace, name string) (found T) {
	key := types.NamespacedName{Namespace: namespace, Name: name}.String()
	if namespace == "" {
		key = name
	}
	if object, exists, err := informer.GetStore().GetByKey(key); err == nil && exists {
		found, _ = object.(T)
	}
	return found
}

// list returns the objects of a cache that an index has under a key.
func list[T any](informer cache.SharedIndexInformer, index, key string) (found []T) {
	objects, err := informer.GetIndexer().ByIndex(index, key)
	if err != nil {
		return nil // there is no such index: a mistake that every test shows
	}
	for _, object := range objects {
		if typed, ok := object.(T); ok {
			found = append(found, typed)
		}
	}
	return found
}
