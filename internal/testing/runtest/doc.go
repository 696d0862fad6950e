// Package runtest runs a program of the managed cluster, or a part of it, within a test.
// The program talks to API servers of package fakeapi, and the test observes it from
// outside.
package runtest
