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
// them. It neither starts nor installs anything: that is the caller's work.
//
// The names in names_test.go are written out on purpose rather than taken from
// the product: they are what users and Open Cluster Management rely on, and a
// name that changes by accident has to make a test fail.
//
// When a scenario fails, objects, events and logs of that moment are in
// $ARTIFACTS/<scenario>/ (default: artifacts/ at the top of the repository).
package e2e
