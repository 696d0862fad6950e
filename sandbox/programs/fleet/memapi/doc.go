// Package memapi serves the Kubernetes APIs of many simulated managed clusters from
// memory.
//
// Each cluster has its own objects, resource versions and watches. Objects of all kinds
// of the table in kinds.go, and of every CustomResourceDefinition that is created, can
// be read, listed, watched, written, patched and deleted as on a real API server:
// optimistic concurrency, finalizers, owner references, status subresources, generations,
// label and field selectors, server-side apply.
//
// No controllers run but these behaviours: a Deployment becomes available and a Job
// completes (workload.go), a namespace gets its default ServiceAccount and the ConfigMap
// kube-root-ca.crt, and dependents of deleted owners are collected (collect.go).
//
// What it does not do:
//
//   - It has no authorization: the one bearer token may do everything, and every access
//     review is answered with "allowed".
//   - It does not default and barely validates objects: what is written is stored.
//   - It makes no Pods, ReplicaSets or Endpoints, runs no admission and calls no webhooks.
//   - Lists ignore limit, and reads ignore resourceVersion: every answer is current.
//   - Server-side apply of custom resources treats every list as atomic.
//   - Field selectors select by any field, and a watch sends a bookmark only after its
//     initial events and before it ends.
//   - It has no scale, exec, log, eviction and token subresources.
package memapi
