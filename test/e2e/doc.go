// Package e2e holds the end-to-end scenarios of the add-on: enable, copy,
// own, restart, disable. Each is a function that reads as a description of
// what a user may rely on.
//
// The suite knows a hub and its managed clusters by kubeconfigs alone, so the
// same scenarios run on the sandbox, on kind, or on real clusters:
//
//	HUB_KUBECONFIG=/path/hub.kubeconfig \
//	CLUSTER_KUBECONFIGS=cluster1=/path/cluster1.kubeconfig,cluster2=/path/cluster2.kubeconfig \
//	go test -tags e2e ./test/e2e -v
//
// It expects Open Cluster Management on the hub, at least two joined clusters,
// and the add-on's controller deployed, and it leaves all of them as it found
// them. It neither starts nor installs anything: that is the caller's work. KUBECTL_HELLOWORLD
// names the plugin's program, bin/kubectl-helloworld.
//
// TestFleet, behind the tag fleet, has the scenarios of a hub operator, who changes
// something for many clusters at once. It needs three clusters, the hub's
// ClusterManagementAddOn for itself, and shell commands that are called with a
// cluster's name: CUT_CLUSTER and MEND_CLUSTER (the network between the cluster and
// its hub), REJOIN_CLUSTER (a cluster whose ManagedCluster was deleted joins again).
// INSIDE_KUBECONFIGS is like CLUSTER_KUBECONFIGS, with the addresses that pods on
// the other clusters use. TestHubRestored, behind the same tag, needs SNAPSHOT_HUB
// and RESTORE_HUB, which are called with a file, and a hub that may forget what
// happened in between. on-sandbox and on-kind show all of them.
//
// TestReplicaSets, behind the tag replicaset, has the scenarios of ConfigMapReplicaSets. It needs their controller
// (make deploy-example DISTRIBUTION=1) and four clusters; four of its scenarios need only two.
//
// TestTokenDriver, behind the tag token, needs two clusters whose registration
// agents give add-ons tokens, and SWITCH_AUTH, a shell command that is called with a
// cluster's name and csr or token. on-sandbox shows it.
//
// The names in names_test.go are written out on purpose rather than taken from
// the product: they are what users and Open Cluster Management rely on, and a
// name that changes by accident has to make a test fail.
//
// When a scenario fails, objects, events and logs of that moment are in
// $ARTIFACTS/<scenario>/ (default: artifacts/ at the top of the repository).
package e2e
