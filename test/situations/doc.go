// Package situations tests the add-on's agent while the registration agent of Open
// Cluster Management (OCM), which writes its credentials (docs/design.md#credentials),
// gets into trouble: a cluster that has not joined yet, restarts, wrong bootstrap
// kubeconfigs, certificates that expire while the network is broken, a hub that moves,
// several hubs, a cluster that leaves, comes back or is renamed.
// docs/situations.md lists them.
//
// Each situation is a function that reads as a description. At its end the cluster has
// a copy of every ConfigMap that is meant for it, and no other copy. On the way no copy
// was deleted that should have stayed, no pod of the add-on was replaced or restarted
// unless the situation does that itself. No manual step was needed but those that
// docs/situations.md names for the registration agent.
//
// OCM's own registration agent is used, as users run it. The situations know the hub
// and the managed clusters by kubeconfigs alone. Shell commands, which are run with
// CLUSTER set, stop and start a registration agent, print its process and how it ended,
// and set its flags (environment_test.go):
//
//	HUB_KUBECONFIG=/path/hub.kubeconfig \
//	CLUSTER_KUBECONFIGS=cluster1=/path/a.kubeconfig,cluster2=/path/b.kubeconfig \
//	STOP_REGISTRATION_AGENT='kubectl --context=$CLUSTER …' START_REGISTRATION_AGENT=… \
//	REGISTRATION_AGENT_PROCESS=… REGISTRATION_AGENT_ENDS=… SET_REGISTRATION_AGENT_FLAGS=… \
//	go test -tags situations ./test/situations -v
//
// The tests TestExpiry and TestMovesAndNames, behind the tag long, need the sandbox
// (SANDBOX is its command): test/situations/on-sandbox runs all of them. TestHosted needs
// HOSTED_CLUSTERS, TestSeveralHubs a second hub, SECOND_HUB_KUBECONFIG, with STOP_SECOND_HUB
// and START_SECOND_HUB: test/situations/on-kind runs these on kind. The package neither
// starts nor installs anything: OCM and the add-on's controller are expected on the hub.
package situations
