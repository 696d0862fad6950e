package agents

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/internal/retry"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient"
	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient/credentials"
	"open-cluster-management.io/helloworld-addon/pkg/agent/kubeclient"
	"open-cluster-management.io/helloworld-addon/sandbox/fleet"
	"open-cluster-management.io/helloworld-addon/test/bench/floor"
)

// FloorSelector selects the ConfigMaps that the floor copies. The agent ignores them.
const FloorSelector = manifests.SyncLabel + "=" + manifests.SyncDisabled

// floorPause is the pause before the floor, which ends on the first error, starts again.
const floorPause = time.Second

// WithFloor returns a function that runs the agent of a cluster and, until floorCtx ends, the floor
// beside it with the add-on's credentials. The floor's failures do not end the agent.
func WithFloor(floorCtx context.Context) func(context.Context, fleet.Cluster) error {
	return func(ctx context.Context, cluster fleet.Cluster) error {
		ctx, cancel := context.WithCancel(ctx)
		var group sync.WaitGroup
		defer group.Wait()
		defer cancel()
		group.Go(func() {
			if floorCtx.Err() != nil {
				return
			}
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(floorCtx, cancel)()
			keepFloor(ctx, cluster)
		})
		return Agent(ctx, cluster)
	}
}

// keepFloor runs the floor until ctx ends.
func keepFloor(ctx context.Context, cluster fleet.Cluster) {
	for {
		err := runFloor(ctx, cluster)
		if !retry.Sleep(ctx, clock.RealClock{}, floorPause) {
			return
		}
		klog.FromContext(ctx).Error(err, "Restarting the floor")
	}
}

func runFloor(ctx context.Context, cluster fleet.Cluster) error {
	options, err := options(cluster)
	if err != nil {
		return err
	}
	managed, err := kubeclient.New(cluster.Managed)
	if err != nil {
		return fmt.Errorf("client of %s: %w", cluster.Name, err)
	}
	return hubclient.New(hubclient.Config{
		Source: hubclient.NewSecretSource(managed.Secrets(options.Namespace), options.Namespace, options.HubKubeconfigSecret, clock.RealClock{}),
		Policy: credentials.Policy{Identity: credentials.Identity{ClusterName: options.ClusterName, AddonName: manifests.AddonName}},
		Base:   &rest.Config{UserAgent: "floor"},
		Clock:  clock.RealClock{},
	}).Run(quiet(ctx), func(ctx context.Context, hub *rest.Config) error {
		return floor.Run(ctx, floor.Options{Hub: hub, Managed: cluster.Managed,
			Source: options.ClusterName, Target: options.Namespace, Selector: FloorSelector})
	})
}
