// Package control is what can be done to a running sandbox to bring its clusters
// into the situations that real ones get into: cut off from a hub, with a
// bootstrap kubeconfig that is expired or leads elsewhere, renamed, with a hub
// that has a new certificate authority.
//
// It works on the files of the sandbox's directory, which the supervisor and the
// programs look at, and so from any process. It reads and writes nothing on the
// clusters: that is what kubectl is for.
package control
