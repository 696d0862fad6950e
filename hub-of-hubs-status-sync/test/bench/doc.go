// Package bench measures the status of a hub of hubs, from rows that leaf hubs write to the custom resources of the global
// hub, beside the way in which it is done elsewhere, in one run on one machine: PostgreSQL, kube-apiserver and etcd as
// processes, the status sync as its own program, the rows written by the reporter's way of writing.
//
// It prints one table and asserts nothing, but that no writer fails while the database is migrated. The figures are of
// Policies, the kind with a row for each cluster; by flags of AddOnSummaries, of a database of the original hub of hubs that
// was not migrated, and of its migration.
package bench
