// Package agent is the program that runs on a managed cluster: it waits for
// the credentials of the hub, mirrors the cluster's ConfigMaps from there,
// renews the add-on's lease as long as that works, and serves health and
// metrics.
//
// The work is done in the packages beside it (hubclient, mirror, lease); this
// one reads the flags and wires. It needs no right beyond the install
// namespace.
package agent
