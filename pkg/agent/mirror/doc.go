// Package mirror keeps copies of the ConfigMaps of one namespace on the hub in
// one namespace of the managed cluster.
//
// The rules are in the pure part: Plan and PlanOne turn what is on the two
// sides into actions, and know no client. Controller is the thin part: it
// watches both sides, plans one name at a time, and carries the action out.
// It is level-triggered: what an event says is never used, only that the name
// has to be looked at again.
//
// What it guarantees:
//   - it writes and deletes only what it owns (see Copy.Owned), and every
//     change names the UID and the resource version that was planned on, so
//     that a stale cache cannot touch anything else;
//   - nothing is planned before both sides were listed whole, and a list or a
//     watch that fails keeps what was known: nothing is deleted for it;
//   - in sync, it makes no request but the two watches;
//   - deletions that only a list implies are held for a while when they are many
//     (brake): a hub may have been restored without its ConfigMaps;
//   - it writes a copy that another writer keeps changing back once a minute in
//     the end (contest); a change of the source is never delayed by that.
//
// It does not report to the hub, does not remove the copies when the add-on is
// uninstalled, and does not decide whether it may write: it is told (Gate).
package mirror
