package render

import (
	"maps"
	"slices"

	celapi "k8s.io/apiserver/pkg/cel"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
)

// clusterType has the fields of a ManagedCluster that an expression sees: what users set, and what
// rarely changes. A change of one of them changes the cluster's ConfigMaps without a rollout step. So
// for example capacity, allocatable and conditions are not among them.
//
// The fields are declared, so that Compile finds a misspelled one.
var clusterType = object("ManagedCluster", map[string]*celapi.DeclType{
	"metadata": object("ManagedCluster.metadata", map[string]*celapi.DeclType{
		"name":        celapi.StringType,
		"labels":      celapi.NewMapType(celapi.StringType, celapi.StringType, unlimited),
		"annotations": celapi.NewMapType(celapi.StringType, celapi.StringType, unlimited),
	}),
	"spec": object("ManagedCluster.spec", map[string]*celapi.DeclType{
		"managedClusterClientConfigs": celapi.NewListType(texts("ManagedCluster.clientConfig", "url"), unlimited),
		"taints":                      celapi.NewListType(texts("ManagedCluster.taint", "key", "value", "effect"), unlimited),
	}),
	"status": object("ManagedCluster.status", map[string]*celapi.DeclType{
		"clusterClaims": celapi.NewListType(texts("ManagedCluster.claim", "name", "value"), unlimited),
		"version":       texts("ManagedCluster.version", "kubernetes"),
	}),
})

// unlimited is the length of lists and maps: MaxCost limits what an expression may do with them.
const unlimited = -1

func object(name string, fields map[string]*celapi.DeclType) *celapi.DeclType {
	declared := map[string]*celapi.DeclField{}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		declared[field] = celapi.NewDeclField(field, fields[field], true, nil, nil)
	}
	return celapi.NewObjectType(name, declared)
}

// texts returns an object type whose fields are strings.
func texts(name string, fields ...string) *celapi.DeclType {
	types := map[string]*celapi.DeclType{}
	for _, field := range fields {
		types[field] = celapi.StringType
	}
	return object(name, types)
}

// viewOf returns what an expression sees of a cluster, as a value of clusterType.
func viewOf(cluster *clusterv1.ManagedCluster) map[string]any {
	configs, taints, claims := []any{}, []any{}, []any{}
	for _, config := range cluster.Spec.ManagedClusterClientConfigs {
		configs = append(configs, map[string]string{"url": config.URL})
	}
	for _, taint := range cluster.Spec.Taints {
		taints = append(taints, map[string]string{"key": taint.Key, "value": taint.Value, "effect": string(taint.Effect)})
	}
	for _, claim := range cluster.Status.ClusterClaims {
		claims = append(claims, map[string]string{"name": claim.Name, "value": claim.Value})
	}
	version := map[string]string{}
	if cluster.Status.Version.Kubernetes != "" {
		version["kubernetes"] = cluster.Status.Version.Kubernetes
	}
	return map[string]any{
		"metadata": map[string]any{"name": cluster.Name, "labels": cluster.Labels, "annotations": cluster.Annotations},
		"spec":     map[string]any{"managedClusterClientConfigs": configs, "taints": taints},
		"status":   map[string]any{"clusterClaims": claims, "version": version},
	}
}
