// Package mirror keeps copies of the ConfigMaps of one namespace on the hub in one
// namespace of the managed cluster.
//
// The rules are in package plan, which is pure. This package is the shell around
// it: [Controller] watches both namespaces and works on one name at a time. It is
// level-triggered: an event only says which name to look at again, not what to do.
//
// A ConfigMap takes this way from the hub's watch to the write of its copy:
//
//  1. view/watch.go lists and watches the namespace on the hub
//  2. plan/objects.go reduces the object to the fields that the rules need
//  3. view/view.go caches the result, and calls back with the object's name
//  4. controller.go queues the name; a worker looks it up in both caches, unless
//     the gate is closed
//  5. plan/plan.go decides what has to be done
//  6. plan/book.go decides whether it is done now or later
//  7. plan/record.go holds what is remembered of the name for that
//  8. write.go writes the copy
//
// Afterwards the controller records the outcome in the book, and plan/summary.go
// makes of it what state.go returns to the reports and the health checks.
//
// Guarantees:
//   - The mirror writes and deletes only objects that it owns. Every change names
//     the UID and resource version that it was planned on, so that a stale cache
//     cannot change another object (docs/design.md#rule-3-ownership).
//   - It writes nothing before both namespaces are listed completely. A failed list
//     or watch keeps the last known state: nothing is deleted because of it
//     (docs/design.md#rule-5-prune).
//   - In sync, it sends no request but its two watches
//     (docs/design.md#rule-7-silence).
//   - Many removals that only a list implies are held for a time
//     (docs/design.md#rule-10-removals).
//   - A copy that another writer keeps changing back is written once a minute in the
//     end. A change of its source is never delayed by that
//     (docs/design.md#rule-11-contest).
//
// Package report reports to the hub. Package uninstall removes the copies when the
// add-on is uninstalled, and uninstall/gate decides whether the mirror may write
// (Config.Gate).
package mirror
