package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

const (
	// reportInterval is the time between two reports, retryInterval that after a report that failed.
	reportInterval = time.Minute
	retryInterval  = 2 * time.Second
	// requestTimeout limits a request to an API server.
	requestTimeout = 10 * time.Second
)

// runAgent writes reports to the hub until ctx ends. The variables CLUSTER and HUB_KUBECONFIG come from
// manifests/agent.yaml.
func runAgent(ctx context.Context, getenv func(string) string) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return fmt.Errorf("find the managed cluster: %w", err)
	}
	// it names the files of a client certificate, which client-go reads again when OCM has renewed them
	hubConfig, err := clientcmd.BuildConfigFromFlags("", getenv("HUB_KUBECONFIG"))
	if err != nil {
		return fmt.Errorf("read the hub's kubeconfig: %w", err)
	}
	config.Timeout, hubConfig.Timeout = requestTimeout, requestTimeout
	managed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create a client of the managed cluster: %w", err)
	}
	hub, err := kubernetes.NewForConfig(hubConfig)
	if err != nil {
		return fmt.Errorf("create a client of the hub: %w", err)
	}
	for ctx.Err() == nil {
		wait := reportInterval
		if err := report(ctx, managed, hub, getenv("CLUSTER")); err != nil {
			klog.FromContext(ctx).Error(err, "Report failed", "retryIn", retryInterval)
			wait = retryInterval
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	return nil
}

// report writes the number of the cluster's nodes to a ConfigMap in the cluster's namespace on the hub.
func report(ctx context.Context, managed, hub kubernetes.Interface, cluster string) error {
	nodes, err := managed.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	data := map[string]string{"nodes": strconv.Itoa(len(nodes.Items))}
	configMap := corev1apply.ConfigMap(name, cluster).WithData(data)
	if _, err := hub.CoreV1().ConfigMaps(cluster).Apply(ctx, configMap, metav1.ApplyOptions{FieldManager: name, Force: true}); err != nil {
		return fmt.Errorf("apply the ConfigMap %s/%s on the hub: %w", cluster, name, err)
	}
	klog.FromContext(ctx).Info("Reported to the hub", "nodes", len(nodes.Items))
	return nil
}
