// Package runtest runs a program of the managed cluster, or a part of one, within
// a test, between API servers of package fakeapi, and looks at it from outside.
// What the program should do is the test's.
package runtest
