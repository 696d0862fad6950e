// Package replicaset is the program helloworld-replicaset-controller: it carries out ConfigMapReplicaSets.
//
//	ConfigMapReplicaSet, sources, Placements, ManagedClusters ──┐
//	ConfigMaps on the clusters' namespaces, ConfigMapMirrors ───┤ caches
//	                                                            ▼
//	                              gather ──► plan.Inputs ──► plan.Plan ──► plan.Result
//	                                                                          │ execute
//	               ConfigMaps, ControllerRevisions, status, events  ◄─────────┘
//
// Package plan decides, package steps asks OCM's rollout handler, and package render makes the content.
// This package does the IO: it reads caches, calls plan.Plan, and carries out the result. It writes
// ConfigMaps that carry the marks of their set, ControllerRevisions that the set owns, and the status,
// the finalizer and events of the set.
package replicaset
