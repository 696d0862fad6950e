// Package postgres stores the reports of leaf hubs in PostgreSQL 13 or later. It holds all SQL of this module and is the
// only importer of pgx.
//
// The tables are those of hub-of-hubs (https://github.com/stolostron/hub-of-hubs-postgresql). Migrate creates missing tables
// and does not change existing ones. Triggers log the changed objects of every writer, so a reader reads changes only. The
// package does not compute a status: package status aggregates the rows, and declares the interfaces that Store implements.
package postgres
