// Package ocm runs Open Cluster Management on the sandbox's clusters: OCM's own
// hub controllers and webhook server on the hub, its registration agent and work
// agent on each managed cluster, with the CRDs and the RBAC that OCM's module
// ships, each program under its own ServiceAccount.
//
// What OCM's operators would do beyond that (Helm charts, ClusterManager and
// Klusterlet objects) is not here: the programs are started directly. The
// webhooks of registration and work, which only validate and default, do not run.
package ocm
