// Package demo shows the status of a hub of hubs at work: a global hub and two
// leaf hubs with a managed cluster each, all of them sandboxes, a PostgreSQL, the
// status report of each leaf hub and the status sync of the global hub. What
// happens on a managed cluster is seen on the global hub, and timed.
//
// The sandboxes' pods have no way out of their sandboxes, so the two programs run
// beside them, with the rights of the ServiceAccounts that deploy/ gives them.
// There is no spec sync: the demonstration puts the policy on the hubs and into
// the database itself.
package demo
