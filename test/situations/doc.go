// Package situations holds what happens around the add-on's agent when the
// registration agent of Open Cluster Management (OCM), on whose Secret it lives,
// gets into trouble: a cluster that has not joined yet, restarts, bootstrap
// kubeconfigs that are wrong, certificates that expire behind a broken network, a
// hub that moves, several hubs, a cluster that leaves, comes back or is renamed.
//
// Each situation is a function that reads as a description. In the end of each,
// every ConfigMap that is meant for a cluster is there, and nothing else; no copy
// was deleted on the way that should have stayed; no pod of the add-on was
// replaced or restarted that the situation does not replace itself; and nobody had
// to lend a hand.
//
// OCM's own registration agent is used, as users run it. Situations 1 to 4 know the
// hub and the managed clusters by kubeconfigs alone, and the way to stop and start
// a registration agent by two shell commands, which are run with CLUSTER set:
//
//	HUB_KUBECONFIG=/path/hub.kubeconfig \
//	CLUSTER_KUBECONFIGS=cluster1=/path/a.kubeconfig,cluster2=/path/b.kubeconfig \
//	STOP_REGISTRATION_AGENT='kubectl --context=$CLUSTER …' START_REGISTRATION_AGENT=… \
//	go test -tags situations ./test/situations -v
//
// The others, behind the tag long, need the sandbox (SANDBOX is its command): test/
// situations/on-sandbox runs all of them. The package neither starts nor installs
// anything: OCM and the add-on's controller are expected on the hub.
package situations
