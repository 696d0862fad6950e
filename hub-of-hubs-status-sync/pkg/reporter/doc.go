// Package reporter is the program hub-of-hubs-status-report. On a leaf hub it
// watches the objects that the global hub needs, and writes them as the leaf hub's
// rows into the database. On the leaf hub it writes only its leader election's
// Lease.
//
//   - The watcher (watch.go) remembers a changed object by its name. When a batch is
//     written (reporter.go), the objects are read as they are then: many changes are
//     one write, and a batch that failed is planned anew.
//   - At the start, and periodically, the database is compared with the leaf hub, so
//     that rows of objects that were deleted meanwhile are removed. Rows of a kind
//     that could not be listed are kept.
//   - A heartbeat states that the rows are right: none is sent before all kinds were
//     compared, nor while the database rejects batches.
package reporter
