// Package doctor brings about what goes wrong with the add-on in operation, on a hub and managed clusters of Open Cluster
// Management, and checks that "kubectl helloworld doctor" names the cause first each time, and that all is well again after
// the repair. It runs on a sandbox: see on-sandbox.
package doctor
