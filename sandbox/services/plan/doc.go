// Package plan decides what a cluster's Services amount to: which addresses have endpoints, which
// endpoint gets a connection, and which records answer a DNS question.
//
// Every function takes values and returns values. Package services follows the cluster, calls this
// package and carries out the result. The rules are kube-proxy's and those of Kubernetes' DNS:
// https://github.com/kubernetes/dns/blob/master/docs/specification.md
package plan
