// Package reporter is the program hub-of-hubs-status-report: on a leaf hub it
// watches what the global hub wants to know, and keeps the leaf hub's rows in the
// database true to it.
//
// What changed is only remembered by name. When it is time to write, the objects
// are taken as they are then, so that the last state wins however often they
// changed, and a batch that could not be written is simply due again. At the
// start, and from time to time, what the database has is compared with what
// there is, so that what went while nobody watched goes, too. Nothing is removed
// of a kind that could not be read. The heartbeat says that the rows are true: none
// goes before every kind was compared, nor while the database takes nothing.
//
// It writes nothing on the leaf hub but its leader election's lock.
package reporter
