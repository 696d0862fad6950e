// Package ocm runs Open Cluster Management on the sandbox's clusters: OCM's own
// hub controllers and webhook servers on the hub, its registration agent and work
// agent on each managed cluster, with the CRDs and the RBAC that OCM's module
// ships, each program under its own ServiceAccount.
//
// There are no operators of OCM: the package starts the programs directly, and its ClusterManagers and
// Klusterlets only describe them.
package ocm
