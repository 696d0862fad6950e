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
// It differs from them where a process of its own per agent matters, or where it saves memory:
//
//   - The two agents have one connection to the hub instead of two.
//   - Run returns when an agent's process would end, and the caller calls it again as a kubelet
//     would. There is no leader election and no health endpoint.
//   - Controllers have one worker instead of ten, and lean informers, which make the same requests.
//   - At most 50 clusters join at a time, and errors in the log are limited.
//
// It does not support hosted mode, several hubs, or the drivers for AWS and gRPC.
package klusterlet
