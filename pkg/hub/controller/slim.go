package controller

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
)

// slim returns the part of an object that the cache keeps. It is an informer's
// transform, and may get an object that is slim already.
//
// Managed fields are dropped. addon-framework writes a whole ManagedClusterAddOn
// from the cache when it changes finalizers; the API server then keeps the
// managed fields that it has. Everything else of such an object stays, also the
// annotation kubectl.kubernetes.io/last-applied-configuration: the write would
// remove it.
//
// Nothing writes a ManagedCluster, so that of it only what is read stays.
func slim(obj any) (any, error) {
	if cluster, ok := obj.(*clusterv1.ManagedCluster); ok {
		return slimCluster(cluster), nil
	}
	if object, err := meta.Accessor(obj); err == nil {
		object.SetManagedFields(nil)
	}
	return obj, nil
}

// slimCluster keeps the name, and what is needed to see whether the cluster is
// being deleted, is accepted and is available, and the registries of its images.
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
