package addon

import "open-cluster-management.io/helloworld-addon/manifests"

// AgentUser is the user name in the agent's certificate on the hub, in the form
// that OCM gives to the agents of add-ons. It belongs to one cluster.
func AgentUser(clusterName string) string {
	return clusterGroup(clusterName) + ":agent:" + manifests.AgentName
}

// AgentServiceAccountUser is the agent's user name on the hub where the
// cluster's klusterlet has --addon-kubeclient-registration-auth=token. OCM names
// the ServiceAccount <add-on>-agent, in the cluster's namespace (ocm v1.2.1,
// pkg/registration/register/token). It belongs to one cluster.
func AgentServiceAccountUser(clusterName string) string {
	return "system:serviceaccount:" + clusterName + ":" + manifests.HubServiceAccount
}

// AgentGroups are the groups in the agent's certificate on the hub: the one of
// this cluster's agent, and the one that the agents of all clusters share. The
// second must never be bound to a role in a cluster's namespace.
func AgentGroups(clusterName string) []string {
	return []string{
		clusterGroup(clusterName),
		"system:open-cluster-management:addon:" + manifests.AddonName,
	}
}

func clusterGroup(clusterName string) string {
	return "system:open-cluster-management:cluster:" + clusterName + ":addon:" + manifests.AddonName
}
