package ocm

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	clusterclient "open-cluster-management.io/api/client/cluster/clientset/versioned"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
)

// joinTimeout limits the wait for a cluster to join, which takes 2 s on an idle machine.
const joinTimeout = 3 * time.Minute

// joinedConditions are the conditions of a ManagedCluster that has joined and is available.
var joinedConditions = []string{
	clusterv1.ManagedClusterConditionHubAccepted,
	clusterv1.ManagedClusterConditionJoined,
	clusterv1.ManagedClusterConditionAvailable,
}

// WaitAvailable waits until all joinedConditions of the cluster are True on the hub.
func WaitAvailable(ctx context.Context, hub *rest.Config, name string) error {
	client, err := clusterclient.NewForConfig(hub)
	if err != nil {
		return fmt.Errorf("cluster client of the hub: %w", err)
	}
	last := "no ManagedCluster yet"
	err = wait.PollUntilContextTimeout(ctx, 250*time.Millisecond, joinTimeout, true, func(ctx context.Context) (bool, error) {
		cluster, err := client.ClusterV1().ManagedClusters().Get(ctx, name, metav1.GetOptions{})
		if ctx.Err() != nil {
			return false, nil // the last answer tells more than that the time is up
		}
		if err != nil {
			last = err.Error()
			return false, nil
		}
		missing := missingConditions(cluster.Status.Conditions)
		last = "not yet true: " + strings.Join(missing, ", ")
		return len(missing) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the cluster %s to join: %w (%s)", name, err, last)
	}
	return nil
}

// missingConditions returns the joinedConditions that are not True.
func missingConditions(conditions []metav1.Condition) []string {
	var missing []string
	for _, c := range joinedConditions {
		if !meta.IsStatusConditionTrue(conditions, c) {
			missing = append(missing, c)
		}
	}
	return missing
}
