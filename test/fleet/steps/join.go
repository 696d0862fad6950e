package steps

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/helloworld-addon/test/bench/procfs"
	"open-cluster-management.io/helloworld-addon/test/fleet/record"
)

// Join records how long the clusters took to join, by what the hub knows, and the memory of the fleet with
// its hub. up is the time of `ocm-sandbox up`.
func Join(ctx context.Context, f *Fleet, up time.Duration) error {
	f.say("1. the clusters have joined")
	f.Record.Judge(f.figure(record.Join, record.FleetStart, "", "s", up.Seconds()), record.AtMost(300).For(100, 1000))
	list, err := f.dynamic.Resource(clusters).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the clusters: %w", err)
	}
	f.Record.Latencies(f.figure(record.Join, record.Joined, "", "s", 0), joinsOf(list.Items), f.Size())
	tree, err := procfs.Tree(f.supervisor)
	if err != nil {
		return err
	}
	f.Record.Judge(f.memory(record.Join, tree), record.AtMost(6144).For(0, 1000))
	return nil
}

// joinsOf returns the times from the first cluster's creation until each was available. The hub's
// times are in seconds.
func joinsOf(list []unstructured.Unstructured) []time.Duration {
	var first time.Time
	var ends []time.Time
	for i := range list {
		if created := list[i].GetCreationTimestamp().Time; first.IsZero() || created.Before(first) {
			first = created
		}
		conditions, _, _ := unstructured.NestedSlice(list[i].Object, "status", "conditions")
		for _, c := range conditions {
			condition, ok := c.(map[string]any)
			if !ok || condition["type"] != "ManagedClusterConditionAvailable" || condition["status"] != "True" {
				continue
			}
			text, _ := condition["lastTransitionTime"].(string)
			if at, err := time.Parse(time.RFC3339, text); err == nil {
				ends = append(ends, at)
			}
		}
	}
	var joins []time.Duration
	for _, end := range ends {
		joins = append(joins, end.Sub(first))
	}
	return joins
}
