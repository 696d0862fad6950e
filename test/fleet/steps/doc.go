// Package steps has the steps of the fleet benchmark: what each does to a running fleet, what
// it waits for, and which figures it records.
//
// A step watches the hub from outside, as an administrator. It gives the agents no help: they
// work with their own credentials.
package steps
