// Package clusters starts and removes kind clusters, a hub and managed ones,
// and writes their kubeconfigs. kind is used as a library; the containers are
// Docker's.
//
// It touches only clusters that it made, which it knows by their certificate
// authority in the directory of the kubeconfigs. It installs nothing on them.
package clusters
