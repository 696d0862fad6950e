// Package syncer is the program hub-of-hubs-status-sync: it keeps the status of
// the global hub's objects true to what the leaf hubs wrote into the database.
//
// One runnable, the feed, asks the database what changed and puts the keys of
// what did into queues; one runnable for each kind of status takes them from
// there, reads all rows of a key, makes the status (package status: a pure
// function), and writes it if it differs. The files plan*.go decide, the others
// read and write.
//
// Nothing wrong is written, whoever else writes: what is known of an object was
// read before the rows were, and a write carries that resourceVersion. So the
// rows of a write are never older than the object that it replaces, also when
// two syncers run by mistake or a new leader begins before the old one has
// ended. A create has nothing to carry: an object that another syncer has made and
// removed in between comes back, and goes again when its rows are read next.
//
// It does not write into the database, and reads no object's spec.
package syncer
