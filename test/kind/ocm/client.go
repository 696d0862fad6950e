package ocm

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// Cluster is a hub or a managed cluster.
type Cluster struct {
	// Name is the managed cluster's name on the hub; a hub has one too.
	Name string
	// Kubeconfig is the administrator's kubeconfig file, for this machine.
	Kubeconfig string
	// Internal is a kubeconfig file with the address that other clusters' pods
	// reach the API server at. It is needed of a hub, and of a cluster with Hosting.
	Internal string
	// Hosting is another managed cluster, where OCM's agents of this one run (hosted
	// mode). Without it they run on this one.
	Hosting *Cluster
}

// callTimeout is for one request.
const callTimeout = 15 * time.Second

// pollInterval is how often a state is looked at.
const pollInterval = 250 * time.Millisecond

type client struct {
	kube    kubernetes.Interface
	dynamic dynamic.Interface
}

func connect(cluster Cluster) (*client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("%s: read kubeconfig %s: %w", cluster.Name, cluster.Kubeconfig, err)
	}
	config.Timeout = callTimeout
	config.QPS = -1
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("%s: create client: %w", cluster.Name, err)
	}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("%s: create dynamic client: %w", cluster.Name, err)
	}
	return &client{kube: kube, dynamic: dyn}, nil
}

// waitFor looks at the state until it is nil, and otherwise returns the last
// one that was seen.
func waitFor(ctx context.Context, limit time.Duration, what string, state func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollInterval, limit, true, func(ctx context.Context) (bool, error) {
		err := state(ctx)
		// a request that the deadline cut off says nothing about the state
		if last == nil || ctx.Err() == nil {
			last = err
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %s: %w; last seen: %w", what, err, last)
	}
	return nil
}
