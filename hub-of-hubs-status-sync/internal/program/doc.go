// Package program is the frame of the two programs that carry status between
// leaf hubs and a global hub by a database: what both are told by flags and the
// environment, the manager in which both run, and how both wait for a database
// or a kind of object that is not there.
//
// What a program reads and writes is its own. The frame itself reads no row, and
// writes nothing on a hub but the leader election's lock.
package program
