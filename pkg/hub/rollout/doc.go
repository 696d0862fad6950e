// Package rollout follows the agents on their clusters and tells OCM and the
// hub's users how they fare, by the state of each agent's Deployment, which the
// ManifestWork's status has.
//
// It writes two things. The annotation by which OCM's add-on manager recognizes
// that a cluster has a configuration
// (open-cluster-management.io/config-spec-hash) is put on the ManifestWork only
// when the agent is rolled out with that configuration, so that a rollout
// strategy stops at the first group of clusters on which the agent does not come
// up. And the conditions Degraded, ConfigurationValid, and, while the agent is
// silent, ConfigMapsSynced of the ManagedClusterAddOn.
//
// The decisions are pure functions: StateOf and State.RolledOut, Conditions,
// Releases, Hold. Controller reads, calls them, and writes.
//
// It does not decide which clusters are next (OCM's add-on manager does), and it
// does not ship the agent (addon-framework does).
package rollout
