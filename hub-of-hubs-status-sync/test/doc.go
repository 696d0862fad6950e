// Package hubofhubs tests the status of a hub of hubs with a real kube-apiserver
// and a real PostgreSQL: every kind from rows to objects and from a leaf hub to
// rows, and what happens when one of the two is away, slow, or doubled.
//
// The programs run in the test's process, with the rights that deploy/ gives
// them and nothing more. The tests need the sandbox's programs (etcd and
// kube-apiserver) and PostgreSQL's, and are behind the build tag postgres.
package hubofhubs
