// Package hubclient keeps the agent's connection to the hub.
//
// OCM's registration agent writes the credentials into a Secret in the install
// namespace, and renews them there. This package watches that one Secret,
// checks what is in it (Load, pure), decides what a change means (Decide,
// pure), and carries it out: a new certificate is used on the running
// connection, a new server or CA gets a new one. What is bad is reported and
// not used; the last good credentials stay in use.
//
// It requests no certificate, and writes nothing.
package hubclient
