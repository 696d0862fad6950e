//go:build tools

// Package programs pins the versions of the programs that the sandbox runs, and of OCM's operator,
// which the tool for kind builds. It holds no code: its imports keep the modules of these commands,
// and the hashes of all their dependencies, in go.mod and go.sum.
package programs

import (
	_ "go.etcd.io/etcd/etcdutl/v3"
	_ "go.etcd.io/etcd/server/v3"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubectl"
	_ "open-cluster-management.io/ocm/cmd/addon"
	_ "open-cluster-management.io/ocm/cmd/placement"
	_ "open-cluster-management.io/ocm/cmd/registration"
	_ "open-cluster-management.io/ocm/cmd/registration-operator"
	_ "open-cluster-management.io/ocm/cmd/work"
)
