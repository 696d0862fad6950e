// Package hubclient connects to the hub and stays connected while the credentials
// change.
//
// OCM's registration agent writes the credentials into a Secret and renews them
// there. To run an agent by hand they may be in a kubeconfig file. A Source reads
// either, package credentials checks the content, and a Manager keeps a Connection
// with the last good credentials. The package requests no certificate and writes
// nothing.
//
// The states of the credentials, and the Change that a Manager reports when it
// enters one:
//
//	state     entered when                          in use             Ready  Change
//	waiting   start; nothing usable was read so far nothing            error  Refused, once per reason
//	loaded    first usable credentials, or another  a new connection,  nil    Connected
//	          server, proxy, CA or server name      serve starts anew
//	rotated   another certificate, key or token     a new connection,  nil    Rotated
//	          for the same endpoint                 serve continues
//	rejected  the source became unusable            the last good ones nil    Refused
//	          (with DropRejected: as waiting)
//	loaded    the source has those in use again     unchanged          nil    Recovered
//	expired   those in use expired, none better     the last good ones error  none
//
// A rotation reconnects: the next request opens a connection with the new
// credentials, and the old connection is closed closeAfter later. Requests under
// way end normally within that time. Watches end with the connection, and informers
// continue from the resource version that they know. At worst client-go lists the
// one namespace again, about a second later. See docs/design.md#credentials.
package hubclient
