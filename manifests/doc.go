// Package manifests is the contract between the hub controller and the agent: the
// add-on's names, the agent's flags, the labels and annotations that both use, and the
// objects that run the agent on a managed cluster.
//
// It holds values only, and imports only the standard library, so that the agent can
// use the names without linking the hub's dependencies. pkg/hub/addon/install renders
// the objects.
package manifests
