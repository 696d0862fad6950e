package controller

import (
	"context"
	"testing"
	"time"

	workclient "open-cluster-management.io/api/client/work/clientset/versioned"

	"k8s.io/utils/clock"

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
