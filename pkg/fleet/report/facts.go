// Package report judges how the add-on is on every cluster of a hub: facts about the clusters in, a Report
// with one row for each cluster and totals out. It is pure. kubectl helloworld reads the facts from the hub, and the
// controller takes them from its caches for the fleet's metrics, so that both use the same words.
package report

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
)

// Input is what was read from the hub.
type Input struct {
	// Clusters has an entry for each cluster, in any order.
	Clusters []Facts
	// ClustersRead reports whether the ManagedClusters could be read, AddOnsRead whether the
	// ManagedClusterAddOns could.
	ClustersRead, AddOnsRead bool
	// NotRead are the resources that could not be read.
	NotRead []NotRead
	// Now is the time by the caller's clock.
	Now time.Time
}

// Facts is what the hub's objects tell about one cluster. A part is nil where its object does not exist or
// could not be read.
type Facts struct {
	Name    string
	Cluster *Cluster
	AddOn   *AddOn
	Mirror  *Mirror
	Agent   *Agent
}

// Cluster is from the ManagedCluster.
type Cluster struct {
	// Accepted reports whether the hub accepts the cluster.
	Accepted bool
	// Available is the condition ManagedClusterConditionAvailable, or nil.
	Available *metav1.Condition
}

// AddOn is from the ManagedClusterAddOn.
type AddOn struct {
	Created metav1.Time
	// Deleted is when the deletion began, or nil.
	Deleted *metav1.Time
	// HostingCluster is the cluster on which the agent runs, in hosted mode.
	HostingCluster string
	Conditions     []metav1.Condition
}

// Mirror is from the status of the ConfigMapMirror.
type Mirror struct {
	Total, Synced int
	// NotSynced are the ConfigMaps that are not synced, by state. Those that did not fit into the status
	// are missing.
	NotSynced map[v1alpha1.MirrorState]Group
}

// Group is the ConfigMaps of one cluster in one state.
type Group struct {
	Count int
	// Since is when the first of them got into the state, by the cluster's clock.
	Since metav1.Time
	// Message tells the name of one of them, and why it is not synced.
	Message string
}

// Agent is from the ManifestWork with which the hub ships the agent.
type Agent struct {
	// Work is the namespace of the ManifestWork: the cluster, or the hosting cluster.
	Work string
	// Image is that of the agent's container.
	Image string
	// Running reports whether the work agent has reported that the Deployment in the ManifestWork is rolled
	// out, so that the agent really runs from Image.
	Running bool
}
