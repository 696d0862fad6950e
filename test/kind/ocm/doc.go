// Package ocm installs Open Cluster Management on a hub and joins clusters to
// it, by OCM's own Helm charts, from the OCM module that go.mod pins.
//
// It does not start clusters (package clusters does), and it knows them by
// kubeconfigs alone. What it installs is the same whether the images are the
// published ones or built from the module: only their names differ.
package ocm
