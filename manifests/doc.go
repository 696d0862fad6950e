// Package manifests is the contract between the hub controller and the agent:
// the add-on's names, the agent's flags, the marks on the objects that either
// of them writes, and the objects that run the agent on a managed cluster.
//
// It holds values only. It neither renders nor applies anything (pkg/hub/addon
// renders), and it imports nothing but the standard library, so that the agent
// can share the names without linking what the hub needs.
package manifests
