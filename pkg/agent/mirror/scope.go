package mirror

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// excludedNames are put into every namespace by Kubernetes (the root CA
// publisher of kube-controller-manager) and OpenShift (service-ca-operator),
// with a content of each cluster's own; the last one is the pre-delete hook's.
var excludedNames = []string{"kube-root-ca.crt", "openshift-service-ca.crt", manifests.UninstallMarker}

// Excluded says whether ConfigMaps of this name are never copied, changed or
// deleted.
func Excluded(name string) bool {
	return slices.Contains(excludedNames, name)
}

// Scope is the pair of namespaces that a mirror connects.
type Scope struct {
	// HubNamespace is the managed cluster's namespace on the hub.
	HubNamespace string
	// InstallNamespace is the namespace of the copies on the managed cluster.
	InstallNamespace string
}

// SourceOf is the value of manifests.SourceAnnotation on the copy of the ConfigMap with
// this name.
func (s Scope) SourceOf(name string) string {
	return s.HubNamespace + "/" + name
}

// onCluster names the ConfigMap of this name in the install namespace. The
// managed cluster has the name of its namespace on the hub.
func (s Scope) onCluster(name string) string {
	return fmt.Sprintf("ConfigMap %s/%s on cluster %s", s.InstallNamespace, name, s.HubNamespace)
}

// owns says whether a ConfigMap in the install namespace is this mirror's copy:
// both marks are needed, and the source has to be the one of the same name in
// this mirror's own namespace on the hub. So two agents that share an install
// namespace leave each other's copies alone.
func (s Scope) owns(cm *corev1.ConfigMap) bool {
	return cm.Labels[manifests.ManagedByLabel] == manifests.ManagedByAgent &&
		cm.Annotations[manifests.SourceAnnotation] == s.SourceOf(cm.Name)
}
