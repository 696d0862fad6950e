// Package fakeapi is an API server in memory for the tests of the agent and of the kubectl plugin. It serves
// ConfigMaps, Secrets, Pods, Leases, Events, ManagedClusterAddOns, ConfigMapMirrors, ConfigMapReplicaSets and
// ControllerRevisions over HTTP, with the features that the two rely on: UIDs, resource versions, optimistic
// locking, preconditions, immutability, finalizers, label selectors, the apply of a condition and of a
// ConfigMapMirror's status, merge patches of ConfigMapReplicaSets, dry runs, watches, and errors on demand.
//
// It has no authorization, no field selector but metadata.name, no pages and no
// streamed lists: a client falls back to list and watch.
package fakeapi
