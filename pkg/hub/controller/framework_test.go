package controller

import (
	"context"
	"testing"
	"time"

	workclient "open-cluster-management.io/api/client/work/clientset/versioned"

	"k8s.io/utils/clock"

	"open-cluster-management.io/sdk-go/pkg/basecontroller/factory"

	"open-cluster-management.io/helloworld-addon/pkg/hub/addon"
	"open-cluster-management.io/helloworld-addon/pkg/hub/turns"
)

// runControllers runs the framework's controllers with works as their client of
// ManifestWorks until the test ends.
func runControllers(t *testing.T, c *clients, works workclient.Interface, i *informers) {
	t.Helper()
	order := turns.New(i.addon.Addon().V1beta1().ManagedClusterAddOns().Lister(), clock.RealClock{})
	controllers := newFramework(c.with(order), works, i, addon.New("image", c.kube, i.cache()))
	ctx, cancel := context.WithCancel(t.Context())
	i.start(ctx)
	ended := make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-ended
		i.shutdown()
	})
	if err := i.awaitSync(ctx, time.Minute); err != nil {
		close(ended)
		t.Fatal(err)
	}
	go func() {
		defer close(ended)
		runFramework(ctx, controllers, order)
	}()
}

// A controller that has to end reconciles nothing more, however much is queued: another
// replica waits for the lease.
func TestFrameworkEndsWithAFullQueue(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var reconciled []string
	controller := factory.New().WithSync(func(_ context.Context, syncCtx factory.SyncContext, key string) error {
		reconciled = append(reconciled, key)
		cancel()
		for !syncCtx.Queue().ShuttingDown() {
			time.Sleep(time.Millisecond)
		}
		return nil
	}).ToController("test")
	for _, key := range []string{"cluster1/helloworld", "cluster2/helloworld", "cluster3/helloworld"} {
		controller.SyncContext().Queue().Add(key)
	}
	runFramework(ctx, []frameworkController{{Controller: controller, workers: 1}}, nil)
	if len(reconciled) != 1 {
		t.Errorf("it reconciled %v after its end", reconciled[1:])
	}
}

// A reconcile holds the lock of its cluster and of some others, for which all controllers
// wait. So a request that is never answered must end.
func TestFrameworkBoundsAReconcile(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	bounded := false
	controller := factory.New().WithSync(func(ctx context.Context, _ factory.SyncContext, _ string) error {
		_, bounded = ctx.Deadline()
		cancel()
		return nil
	}).ToController("test")
	controller.SyncContext().Queue().Add("cluster1/helloworld")
	runFramework(ctx, []frameworkController{{Controller: controller, workers: 1}}, nil)
	if !bounded {
		t.Error("a reconcile has no deadline")
	}
}
