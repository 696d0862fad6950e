// Package postgres keeps what the hubs below a global hub report, in PostgreSQL 13 or later. It holds all of the
// project's SQL and is the only importer of pgx.
//
// The tables are those that users of hub-of-hubs have; Migrate creates what is missing and changes nothing of theirs.
// Triggers keep a log of what changed, whoever writes, so that a reader reads no more than that. The package decides
// nothing about what a status should be: package status aggregates the rows and declares the interfaces that Store
// implements.
package postgres
