package fleet

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Cluster is one simulated managed cluster, as a pod in it sees it.
type Cluster struct {
	// Name is the cluster's name, which is also its namespace on the hub.
	Name string
	// Namespace is that of the pod on the managed cluster.
	Namespace string
	// Managed is the configuration of a client of the managed cluster. A pod reaches the
	// hub as in real life, by the kubeconfig in the add-on's Secret.
	Managed *rest.Config
	// Kubeconfig is the path of a kubeconfig for the managed cluster.
	Kubeconfig string
	// Container is the pod's first container. References in its arguments and environment,
	// for example to the pod's name, are resolved.
	Container corev1.Container
	// Pod and PodUID are those of the pod. They stay the same when an agent's function is
	// called again.
	Pod    types.NamespacedName
	PodUID types.UID
}

// Func is the program of a container: it runs until ctx ends, and then returns soon.
//
// If an agent's function returns before, with an error or nil, it is called again: at once, then after
// 10 s, then each time after twice the time up to 5 minutes, as a kubelet restarts a container.
//
// A Job's function returns nil when the Job is complete. If it returns an error, the Job gets another
// pod after a while, until its backoffLimit.
type Func func(ctx context.Context, cluster Cluster) error

// Agents are the functions for the pods of one image.
type Agents struct {
	// Image selects the pods by the image of their first container. Without a tag or digest
	// it selects all of them.
	Image string
	// Agent is called for the pods of Deployments; nil: they have no program.
	Agent Func
	// Job is called for the pods of Jobs; nil: they complete by themselves.
	Job Func
}
