package steps

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// agentNamespace is that of the agents on the managed clusters, and of the copies.
const agentNamespace = "open-cluster-management-agent-addon"

var placements = schema.GroupVersionResource{Group: "cluster.open-cluster-management.io", Version: "v1beta1", Resource: "placements"}

// Disable lets the Placement select no cluster, and waits until the add-on is gone from all. Its
// uninstall hook has run then, because the hub keeps the ManagedClusterAddOn until then. It returns an
// error when a copy is left on a cluster.
func Disable(ctx context.Context, f *Fleet) error {
	f.say("the add-on is disabled")
	_, err := f.dynamic.Resource(placements).Namespace(namespace).Patch(ctx, placement, types.MergePatchType,
		[]byte(`{"spec":{"predicates":[{"requiredClusterSelector":{"labelSelector":{"matchLabels":{"fleet":"none"}}}}]}}`), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("change the Placement: %w", err)
	}
	err = poll(ctx, f.Times.Limit, func(ctx context.Context) error {
		list, err := f.dynamic.Resource(addOns).List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%d ManagedClusterAddOns are left", len(list.Items))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("disable the add-on: %w", err)
	}
	var left []error
	for _, name := range f.Clusters {
		client, err := f.members.Cluster(name)
		if err != nil {
			return err
		}
		for _, configMap := range []string{firstMap, ourMap} {
			_, err := client.CoreV1().ConfigMaps(agentNamespace).Get(ctx, configMap, metav1.GetOptions{})
			switch {
			case err == nil:
				left = append(left, fmt.Errorf("%s has the copy %s still", name, configMap))
			case gone(err) != nil:
				left = append(left, fmt.Errorf("read the copy %s of %s: %w", configMap, name, err))
			}
		}
	}
	return errors.Join(left...)
}

// Changed changes a ConfigMap in every cluster's namespace and waits for the copies.
func Changed(ctx context.Context, f *Fleet) error {
	_, err := f.change(ctx, &changed{configMap: ourMap}, f.Clusters)
	return err
}
