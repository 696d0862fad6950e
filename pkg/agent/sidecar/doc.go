// Package sidecar is the program klusterlet-addon-lease-controller, which runs
// beside an add-on's container and keeps the add-on's lease for it: as long as
// the pod works, and the credentials that the add-on has for the hub are good.
//
// What the pod's status and the secret's content mean, and what a failed request
// says, are pure functions of values (pod.go, secret.go, classify.go). The rest
// watches that one pod and that one secret, hands the verdict to package lease,
// which renews, and reports: log, Events on the pod, health and metrics. It
// neither restarts nor changes anything but its lease.
package sidecar
