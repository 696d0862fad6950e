// Package control changes a running sandbox, to bring its clusters into situations of
// real ones: cut off from a hub, with an expired bootstrap kubeconfig or one of another
// hub, renamed, with a hub that has a new certificate authority, restored from a backup.
//
// Any process can use it: it works on files in the sandbox's directory, which the
// supervisor and the programs read. It does not write to the clusters' API servers; use
// kubectl for that.
package control
