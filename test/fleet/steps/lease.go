package steps

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// KeepLeases sets leaseDurationSeconds of every ManagedCluster on the hub of the sandbox in dir, also of those that join later,
// until ctx ends. The period is in whole seconds. The sandbox may start later. KeepLeases retries a patch that fails every
// second, and writes the first error to out.
//
// An agent of OCM renews its lease at once when the period changes, and then every 1 to 1.25 periods. Each renewal is two
// requests.
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/spoke/lease/lease_controller.go
func KeepLeases(ctx context.Context, dir string, period time.Duration, out io.Writer) {
	hub := awaitClusters(ctx, dir)
	if hub == nil {
		return
	}
	seconds := int64(period.Seconds())
	patch := fmt.Appendf(nil, `{"spec":{"leaseDurationSeconds":%d}}`, seconds)
	watchAll(ctx, hub, clusters, "", func(cluster *unstructured.Unstructured) {
		if set, _, _ := unstructured.NestedInt64(cluster.Object, "spec", "leaseDurationSeconds"); set == seconds {
			return
		}
		for first := true; ctx.Err() == nil; first = false {
			patchCtx, cancel := context.WithTimeout(ctx, writeTimeout)
			_, err := hub.Resource(clusters).Patch(patchCtx, cluster.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
			cancel()
			if err == nil || apierrors.IsNotFound(err) {
				return
			}
			if first {
				fmt.Fprintf(out, "set the period of the lease of %s, retrying: %v\n", cluster.GetName(), err)
			}
			pause(ctx, time.Second)
		}
	}, func() {})
}

// awaitClusters returns a client of the hub of the sandbox in dir when the hub serves ManagedClusters, or nil when ctx ends.
func awaitClusters(ctx context.Context, dir string) dynamic.Interface {
	for ctx.Err() == nil {
		if config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "hub.kubeconfig")); err == nil {
			config.QPS = -1
			hub, err := dynamic.NewForConfig(config)
			if err == nil {
				listCtx, cancel := context.WithTimeout(ctx, writeTimeout)
				_, err = hub.Resource(clusters).List(listCtx, metav1.ListOptions{Limit: 1})
				cancel()
			}
			if err == nil {
				return hub
			}
		}
		pause(ctx, time.Second)
	}
	return nil
}

// pause waits until ctx ends, at most d.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
