// Package fakeapi is an API server in memory for the agent's tests. It serves ConfigMaps,
// Secrets, Pods, Leases, Events and ManagedClusterAddOns over HTTP, with the features
// that the agent relies on: UIDs, resource versions, optimistic locking,
// preconditions, immutability, finalizers, label selectors, the apply of a
// condition, watches, and errors on demand.
//
// It has no authorization, no field selector but metadata.name, no pages and no
// streamed lists: a client falls back to list and watch.
package fakeapi
