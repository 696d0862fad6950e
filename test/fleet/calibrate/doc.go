// Package calibrate compares simulated managed clusters with real ones: by the requests
// that a hub gets because of them.
//
// Real and simulated clusters are managed by one hub at the same time, and the same is done
// to all of them. The hub's API server writes an audit log of every request: who asked,
// what for, and with which result. Each request belongs to one cluster, either because one of
// the cluster's agents asked, or because a controller of the hub asked for an object of
// the cluster. So the counts per cluster can be compared request by request.
//
// Reading, attributing and comparing are pure (audit.go, attribute.go, compare.go); the
// scenario that both kinds of clusters go through is in scenario.go.
package calibrate
