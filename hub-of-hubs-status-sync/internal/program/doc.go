// Package program is the frame of the two programs of the hub of hubs: their
// common flags and environment variables, the controller-runtime manager in which
// they run, and the retries while the database or a kind of object is not
// available.
//
// Each program reads and writes its own data. The frame itself reads no row, and
// writes only the Lease of the leader election on the hub.
package program
