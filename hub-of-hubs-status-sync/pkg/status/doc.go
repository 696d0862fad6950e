// Package status is what the two halves of the hub of hubs' status share: the
// aggregates, which make the status of an object on the global hub of what the
// leaf hubs say (Entries: one entry for each kind), and the Store interfaces, by
// which the programs reach the database.
//
// It reads and writes nothing: package syncer keeps the global hub's objects
// true to the database, package reporter the database true to a leaf hub, and
// package postgres is the database.
package status
