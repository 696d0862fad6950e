package ocm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	clusterclient "open-cluster-management.io/api/client/cluster/clientset/versioned"
	clusterinformers "open-cluster-management.io/api/client/cluster/informers/externalversions"
	clusterlisters "open-cluster-management.io/api/client/cluster/listers/cluster/v1"
)

// fleetJoinTimeout is the additional time for each cluster of a fleet to join, which takes 0.1 to
// 0.3 s on an idle machine with two cores.
const fleetJoinTimeout = time.Second

// namedMissing is the number of clusters that an error names.
const namedMissing = 5

// WaitFleet waits until all joinedConditions of the clusters are True on the hub. It calls progress
// when the number of those has changed, at most once in a period.
func WaitFleet(ctx context.Context, hub *rest.Config, names []string, period time.Duration, progress func(joined int)) error {
	client, err := clusterclient.NewForConfig(hub)
	if err != nil {
		return fmt.Errorf("cluster client of the hub: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	factory := clusterinformers.NewSharedInformerFactory(client, 0)
	lister := factory.Cluster().V1().ManagedClusters().Lister()
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	defer cancel() // before Shutdown, which waits for the informers

	limit := joinTimeout + time.Duration(len(names))*fleetJoinTimeout
	var missing []string
	reported, reportedAt := 0, time.Now()
	err = wait.PollUntilContextTimeout(ctx, 250*time.Millisecond, limit, true, func(context.Context) (bool, error) {
		missing = notJoined(lister, names)
		joined := len(names) - len(missing)
		if joined != reported && (time.Since(reportedAt) >= period || len(missing) == 0) {
			progress(joined)
			reported, reportedAt = joined, time.Now()
		}
		return len(missing) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("wait %s for the fleet to join: %w (%d of %d clusters are missing: %s)", limit, err, len(missing), len(names), abridged(missing))
	}
	return nil
}

// notJoined returns, for each cluster that has not joined or is not available, its name and why.
func notJoined(lister clusterlisters.ManagedClusterLister, names []string) []string {
	var missing []string
	for _, name := range names {
		cluster, err := lister.Get(name)
		if err != nil {
			missing = append(missing, name+": no ManagedCluster yet")
			continue
		}
		if conditions := missingConditions(cluster.Status.Conditions); len(conditions) > 0 {
			missing = append(missing, name+": not yet true: "+strings.Join(conditions, ", "))
		}
	}
	return missing
}

// abridged joins the first texts.
func abridged(texts []string) string {
	if len(texts) > namedMissing {
		texts = append(slices.Clone(texts[:namedMissing]), "and others")
	}
	return strings.Join(texts, "; ")
}
