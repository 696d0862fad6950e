// Package track knows when the copies on the managed cluster are as they should
// be: a watch notes when each one was last seen to change, and a question about
// many of them is answered with the time at which the last one was right.
//
// The times are those at which this process got the events. Every subject is
// timed by the same watch on the same connection.
package track
