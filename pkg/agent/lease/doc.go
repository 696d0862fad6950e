// Package lease renews the Lease by which OCM's registration agent knows that
// an add-on's agent works.
//
// Next decides (pure) what the lease has to look like now; Renewer writes it,
// as long as a health check agrees. It does not elect a leader: the holder is
// whoever renews.
package lease
