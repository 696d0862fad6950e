package replicaset

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/plan"
)

// placement returns what is known of a Placement in the namespace of a set.
func (k *caches) placement(namespace, name string) plan.Placement {
	return plan.NewPlacement(get[*clusterv1beta1.Placement](k.placements, namespace, name),
		list[*clusterv1beta1.PlacementDecision](k.decisions, byPlacement, namespace+"/"+name))
}

// selection returns the Placements of a set, and the clusters that they select.
func (k *caches) selection(set *v1alpha1.ConfigMapReplicaSet) (map[string]plan.Placement, map[string]bool) {
	placements, clusters := map[string]plan.Placement{}, map[string]bool{}
	for _, ref := range set.Spec.PlacementRefs {
		placement := k.placement(set.Namespace, ref.Name)
		placements[ref.Name] = placement
		for _, group := range placement.Groups {
			for _, cluster := range group.Clusters {
				clusters[cluster] = true
			}
		}
	}
	return placements, clusters
}

// storedRevisions returns the stored revisions of a set.
func (k *caches) storedRevisions(set *v1alpha1.ConfigMapReplicaSet) (revisions []plan.Revision) {
	for _, stored := range list[*appsv1.ControllerRevision](k.revisions, byUID, string(set.UID)) {
		name := stored.Labels[manifests.RevisionAnnotation]
		if own := k.revision(set, name); own != nil && own.Name == stored.Name && own.Namespace == stored.Namespace {
			revisions = append(revisions, plan.Revision{Name: name, Number: own.Revision})
		}
	}
	return revisions
}

// revision returns a stored revision of a set, or nil. One whose owner is not the set is not its own.
func (k *caches) revision(set *v1alpha1.ConfigMapReplicaSet, name string) *appsv1.ControllerRevision {
	stored := get[*appsv1.ControllerRevision](k.revisions, set.Namespace, revisionName(set, name))
	if stored == nil || !metav1.IsControlledBy(stored, set) {
		return nil
	}
	return stored
}

// enabled reports whether the add-on is enabled on a cluster.
func (k *caches) enabled(cluster string) bool {
	addOn := get[*metav1.PartialObjectMetadata](k.addOns, cluster, manifests.AddonName)
	return addOn != nil && addOn.DeletionTimestamp == nil
}

// claims returns which older set writes a ConfigMap on a cluster.
func (k *caches) claims(set *v1alpha1.ConfigMapReplicaSet) func(cluster, name string) string {
	var others []*v1alpha1.ConfigMapReplicaSet
	for _, source := range set.Spec.ConfigMaps {
		for _, other := range list[*v1alpha1.ConfigMapReplicaSet](k.sets, bySource, source.Name) {
			if !slices.Contains(others, other) {
				others = append(others, other)
			}
		}
	}
	return plan.Claims(set, others, func(other *v1alpha1.ConfigMapReplicaSet) map[string]bool {
		_, clusters := k.selection(other)
		return clusters
	})
}

// objects returns, by CLUSTER/NAME, the ConfigMaps of a set on the clusters, and those of others that are in its way: they have
// the name of a source on a selected cluster.
func (k *caches) objects(set *v1alpha1.ConfigMapReplicaSet, selected map[string]bool) map[string]plan.Object {
	own := list[*deliveredObject](k.delivered, byUID, string(set.UID))
	found := make(map[string]plan.Object, len(own))
	for _, delivered := range own {
		object := delivered.object()
		found[object.Cluster+"/"+object.Name] = object
	}
	for cluster := range selected {
		for _, source := range set.Spec.ConfigMaps {
			key := cluster + "/" + source.Name
			if _, own := found[key]; own {
				continue
			}
			if other := get[*deliveredObject](k.delivered, cluster, source.Name); other != nil {
				found[key] = other.object()
			} else if partial := get[*metav1.PartialObjectMetadata](k.names, cluster, source.Name); partial != nil {
				found[key] = plan.Object{Cluster: cluster, Name: source.Name, UID: partial.UID, ResourceVersion: partial.ResourceVersion,
					Deleting: partial.DeletionTimestamp != nil}
			}
		}
	}
	return found
}

// version returns the resourceVersion of a source, or an empty string.
func (k *caches) version(namespace, name string) string {
	if source := get[*metav1.PartialObjectMetadata](k.names, namespace, name); source != nil {
		return source.ResourceVersion
	}
	if source := get[*deliveredObject](k.delivered, namespace, name); source != nil {
		return source.version
	}
	return ""
}

// reports returns what the agents of clusters report about revisions.
func (k *caches) reports(clusters map[string]bool, stored []plan.Revision) map[string][]v1alpha1.MirroredConfigMap {
	reports, revisions := make(map[string][]v1alpha1.MirroredConfigMap, len(clusters)), map[string]bool{}
	for _, revision := range stored {
		revisions[revision.Name] = true
	}
	for cluster := range clusters {
		if mirror := get[*mirrorObject](k.mirrors, cluster, manifests.AddonName); mirror != nil {
			reports[cluster] = mirror.of(revisions)
		}
	}
	return reports
}

// cluster returns a ManagedCluster; one that does not exist has a name only.
func (k *caches) cluster(name string) *clusterv1.ManagedCluster {
	if cluster := get[*clusterv1.ManagedCluster](k.clusters, "", name); cluster != nil {
		return cluster
	}
	return &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// inUse returns the stored revisions that a plan may ask for: the latest one, the current one, and those
// that clusters have.
func inUse(set *v1alpha1.ConfigMapReplicaSet, stored []plan.Revision, objects map[string]plan.Object) []string {
	used := map[string]bool{set.Status.CurrentRevision: true}
	var latest plan.Revision
	for _, revision := range stored {
		if revision.Number > latest.Number || revision.Number == latest.Number && revision.Name > latest.Name {
			latest = revision
		}
	}
	used[latest.Name] = true
	for _, object := range objects {
		if object.Owned(set) {
			used[object.Revision] = true
		}
	}
	var names []string
	for _, revision := range stored {
		if used[revision.Name] {
			names = append(names, revision.Name)
		}
	}
	slices.Sort(names)
	return names
}
