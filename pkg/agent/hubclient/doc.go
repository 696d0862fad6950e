// Package hubclient keeps the agent's connection to the hub.
//
// OCM's registration agent writes the credentials into a Secret in the install
// namespace, and renews them there; for running the agent by hand they may be in
// a kubeconfig file. This package reads either (Source), checks what is there
// (Load, pure), decides what a change means (Decide, pure), and carries it out
// (Manager): a new certificate or token is used on the running connection, a new
// server, proxy or CA gets a new one. What is bad is reported by its Reason and
// not used; the last good credentials stay in use.
//
// On a rotation requests that are on their way end under the old credentials,
// and watches are ended as an API server ends them, once they are old enough
// that client-go does not take that for a failure. So informers go on from the
// resource version that they know: nothing is missed, and nothing is listed
// again.
//
// It requests no certificate, and writes nothing.
package hubclient
