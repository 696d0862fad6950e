// Package klusterlet runs OCM's agents of one managed cluster in this process: the registration
// agent and the work agent. Their controllers are OCM's own code, so a cluster's requests to the
// hub are those of real agents.
//
// Many clusters run in one process. Each has its own key and certificate, connection to the hub,
// watches and caches. They share what holds no state of a cluster: see [Shared].
//
// It composes the controllers as OCM's registration and work agents do:
//   - https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/spoke/spokeagent.go
//   - https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/work/spoke/spokeagent.go
//
// It differs from them where a process of its own per agent matters. The two agents have one
// connection to the hub instead of two. There is no leader election and no health endpoint: Run
// returns when an agent's process would end, and the caller calls it again as kubelet would. It
// does not support hosted mode, several hubs, or the drivers for AWS and gRPC.
package klusterlet
