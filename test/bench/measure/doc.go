// Package measure takes the figures: of each subject in a sandbox of its own with
// one managed cluster, by the same steps. The subjects take turns, so that a
// disturbance of the machine concerns all of them.
//
// A change's latency runs from just before the request that changes the
// ConfigMap on the hub to the event of its copy in this process's watch of the
// managed cluster. It holds the hub's own write, the same for every subject.
//
// Nothing is judged here. What does not come about within its limit gives a
// figure of how far it got, with a note.
package measure
