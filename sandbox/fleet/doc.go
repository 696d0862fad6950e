// Package fleet runs the agents of an add-on for hundreds or thousands of simulated managed clusters
// in one process. The clusters are those of ocm-sandbox up --fleet=N.
//
// An add-on's author passes the function of the agent to [Serve]. Serve calls it once for each pod of
// a Deployment with the agent's image, with that cluster's API, and calls it again when it ends, as a
// kubelet restarts a container. It does the same for Jobs, for example the add-on's uninstall hook.
//
// # What is real, and what is not
//
// The hub is real, and so are OCM's agents of each cluster, its certificate requests and its leases.
// The add-on's manifests come by a ManifestWork, and the add-on's credentials for the hub by a Secret.
// The managed cluster is an API in memory: it stores objects of any kind, but no controllers run in
// it except those that make a Deployment available and a Job complete. It checks no RBAC.
//
// The package starts no processes and reads no images: arguments and environment of the container are
// passed to the function, and the function is linked into the program. It does not isolate the
// agents from each other: a panic in one ends the program, which the sandbox then restarts.
//
// # How a program is run
//
// The program is started inside the sandbox, with the variable OCM_FLEET:
//
//	ocm-sandbox up --fleet=500 --fleet-agents='bin/my-fleet-agents --v=2'
package fleet
