// Package lease holds the end-to-end scenarios of the lease sidecar: what users
// of klusterlet-addon-lease-controller may rely on, each one scenario.
//
// The suite knows a hub and its managed clusters by kubeconfigs, as the one
// beside it does, and expects the example add-on to be installed on all of them
// by test/e2e/lease/apply. STOP_HUB and START_HUB are shell commands that stop
// and start the hub's API server. One scenario runs go and make in the top
// directory, as a developer does.
//
// Times are compared with the lease's own period, never with a clock: machines
// differ.
package lease
