// Package report tells the hub how the mirror fares: by the condition
// ConfigMapsSynced on the ManagedClusterAddOn, and by Events on the hub's
// ConfigMaps for what needs a person.
//
// What the condition says is decided by Condition (pure). Reporter writes it by
// server-side apply as a field manager of its own, so that it owns this one
// condition and nothing else, only when it changes, and at most once a second.
//
// Where there is no hub to tell, PodEvents writes Events on the agent's own pod.
//
// It decides nothing about the mirror, and keeps no history: events are dropped
// rather than sent in floods, because the condition counts them all.
package report
