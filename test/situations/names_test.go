//go:build situations

package situations

import "k8s.io/apimachinery/pkg/runtime/schema"

// The names are written out on purpose: they are what users and OCM rely on.
const (
	addonName       = "helloworld"
	agentDeployment = "helloworld-agent"
	agentAccount    = "helloworld-agent-sa"
	agentSecret     = "helloworld-hub-kubeconfig"
	managedSecret   = "helloworld-managed-kubeconfig"
	managedByLabel  = "app.kubernetes.io/managed-by"
	syncedCondition = "ConfigMapsSynced"

	klusterletNamespace = "open-cluster-management-agent"
	bootstrapSecret     = "bootstrap-hub-kubeconfig"
	hubSecret           = "hub-kubeconfig-secret"
	clusterLease        = "managed-cluster-lease"
	clusterNameLabel    = "open-cluster-management.io/cluster-name"
	addonNameLabel      = "open-cluster-management.io/addon-name"
	// plantedLabel marks the certificate requests that a test creates in the cluster's name.
	plantedLabel      = "situations.test/planted"
	hostingAnnotation = "addon.open-cluster-management.io/hosting-cluster-name"
)

var (
	clusterResource = schema.GroupVersionResource{Group: "cluster.open-cluster-management.io", Version: "v1", Resource: "managedclusters"}
	// the version of the add-on's API as a user would type it
	addonResource = schema.GroupVersionResource{Group: "addon.open-cluster-management.io", Version: "v1alpha1", Resource: "managedclusteraddons"}
)
