// Package v1alpha1 has the add-on's own API on the hub: ConfigMapReplicaSet, which writes
// ConfigMaps to every cluster that a Placement selects, and ConfigMapMirror, in which the
// agent of a cluster reports what it has copied.
//
// It has types alone. The CRDs (deploy/base/crds) are generated from them and installed with the
// add-on. The packages below pkg/hub/replicaset have the rules of ConfigMapReplicaSet.
//
// +kubebuilder:object:generate=true
// +groupName=helloworld.open-cluster-management.io
package v1alpha1
