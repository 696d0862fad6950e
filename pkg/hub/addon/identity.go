package addon

import "open-cluster-management.io/helloworld-addon/manifests"

// AgentUser is the user name in the agent's certificate on the hub, in the form
// that OCM gives to the agents of add-ons. It belongs to one cluster.
func AgentUser(clusterName string) string {
	return clusterGroup(clusterName) + ":agent:" + manifests.AgentName
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
