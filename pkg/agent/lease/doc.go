// Package lease renews the Lease by which OCM's registration agent knows that
// an add-on's agent works: in the agent itself, and in the sidecar for add-ons
// of others.
//
// Next (pure) decides what the lease has to look like now, and the waits (pure)
// when it is written again; Renewer writes it, as long as a health check agrees.
// It does not elect a leader: the holder is whoever renews.
package lease
