package steps

import (
	"context"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
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
		told := false
		_ = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
			ctx, cancel := context.WithTimeout(ctx, writeTimeout)
			defer cancel()
			_, err := hub.Resource(clusters).Patch(ctx, cluster.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
			if err == nil || apierrors.IsNotFound(err) {
				return true, nil
			}
			if !told {
				fmt.Fprintf(out, "set the period of the lease of %s, retrying: %v\n", cluster.GetName(), err)
				told = true
			}
			return false, nil
		})
	}, func() {})
}

// awaitClusters returns a client of the hub of the sandbox in dir when the hub serves ManagedClusters, or nil when ctx ends.
func awaitClusters(ctx context.Context, dir string) (hub dynamic.Interface) {
	_ = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		config, err := hubConfig(dir)
		if err != nil {
			return false, nil //nolint:nilerr // the sandbox has not written it yet
		}
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return false, nil //nolint:nilerr // as above
		}
		ctx, cancel := context.WithTimeout(ctx, writeTimeout)
		defer cancel()
		if _, err := client.Resource(clusters).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
			return false, nil //nolint:nilerr // the hub is starting
		}
		hub = client
		return true, nil
	})
	return hub
}
