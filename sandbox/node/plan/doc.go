// Package plan holds the decisions of a sandbox's node: which containers of a pod
// start next, what their environment, files, user and command line are, which
// status the pod has, and what this node refuses.
//
// Every function takes values and returns values. Package node reads the cluster,
// calls this package and carries out the result. The rules, reasons and messages
// are kubelet's wherever kubelet has one:
// https://github.com/kubernetes/kubernetes/tree/v1.34.4/pkg/kubelet
package plan
