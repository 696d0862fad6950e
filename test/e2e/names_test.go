//go:build e2e

package e2e

import "k8s.io/apimachinery/pkg/runtime/schema"

// What users, other add-ons and Open Cluster Management rely on.
const (
	addonName = "helloworld"

	controllerNamespace  = "open-cluster-management"
	controllerDeployment = "helloworld-controller"

	agentDeployment     = "helloworld-agent"
	agentServiceAccount = "helloworld-agent-sa"
	agentBinding        = "helloworld-addon"
	agentEventsBinding  = "helloworld-addon-events"
	agentSecret         = "helloworld-hub-kubeconfig"
	agentLease          = "helloworld"
	agentUserName       = "helloworld-agent"
	dnsName             = "helloworld.addon.open-cluster-management.io"

	deployWorkPrefix = "addon-helloworld-deploy-"

	clusterNameLabel           = "open-cluster-management.io/cluster-name"
	addonNameLabel             = "open-cluster-management.io/addon-name"
	addonNamespaceLabel        = "open-cluster-management.io/addon-namespace"
	installNamespaceAnnotation = "addon.open-cluster-management.io/v1alpha1-install-namespace"

	managedByLabel  = "app.kubernetes.io/managed-by"
	managedByValue  = "helloworld-agent"
	syncLabel       = "helloworld.open-cluster-management.io/sync"
	syncDisabled    = "disabled"
	adoptAnnotation = "helloworld.open-cluster-management.io/adopt"

	revisionAnnotation = "helloworld.open-cluster-management.io/revision"

	rootCAConfigMap = "kube-root-ca.crt"
)

// What the suite itself writes.
const (
	// suiteLabel is on every object that the suite creates, so that a later
	// run can remove what a killed one left.
	suiteLabel = "helloworld.open-cluster-management.io/e2e"
	// ownNamespace is the install namespace of the second cluster; the add-on
	// ships it. The first cluster's agent runs in "default".
	ownNamespace = "helloworld-e2e"
	// firstConfigMap is on the hub before the add-on is enabled.
	firstConfigMap = "e2e-first"
)

var addonV1alpha1 = schema.GroupVersionResource{
	Group: "addon.open-cluster-management.io", Version: "v1alpha1", Resource: "managedclusteraddons",
}

var configMapMirrors = schema.GroupVersionResource{
	Group: "helloworld.open-cluster-management.io", Version: "v1alpha1", Resource: "configmapmirrors",
}

// agentUser is the agent's user on the hub; it never changes.
func agentUser(clusterName string) string {
	return agentClusterGroup(clusterName) + ":agent:" + agentUserName
}

// agentClusterGroup is the group that only this cluster's agent is in.
func agentClusterGroup(clusterName string) string {
	return "system:open-cluster-management:cluster:" + clusterName + ":addon:" + addonName
}

// agentSharedGroup is the group that the agents of all clusters share: a
// permission bound to it is every cluster's permission.
const agentSharedGroup = "system:open-cluster-management:addon:" + addonName

// agentGroups are all groups of the agent's user, as the API server sees them.
func agentGroups(clusterName string) []string {
	return []string{agentClusterGroup(clusterName), agentSharedGroup, "system:authenticated"}
}
