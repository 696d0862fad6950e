// Package pods tests the hub of hubs' programs as a user installs them: by the
// manifests of deploy/ and the commands of docs/install.md, as pods on a
// global hub and on a leaf hub, with a PostgreSQL that requires TLS and a
// password.
//
// The hubs are given by kubeconfigs, and PostgreSQL by the address of this
// machine at which their pods reach it; on-kind makes all of it. What the
// programs do with rows and objects, package hubofhubs tests; this one tests
// what only pods have: images, secrets, probes, rights, a network.
package pods
