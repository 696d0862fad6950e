package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonfake "open-cluster-management.io/api/client/addon/clientset/versioned/fake"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	"open-cluster-management.io/sdk-go/pkg/basecontroller/factory"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon/install"
	"open-cluster-management.io/helloworld-addon/pkg/hub/turns"
)

// runControllers runs the framework's controllers with works as their client of
// ManifestWorks until the test ends.
func runControllers(t *testing.T, c *clients, works workclient.Interface, i *informers) {
	t.Helper()
	order := turns.New(i.addon.Addon().V1beta1().ManagedClusterAddOns().Lister(), clock.RealClock{})
	controllers := newFramework(c.with(order), works, i, addon.New("image", c.kube, i.cache()), order)
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

// OCM's add-on manager and this program write the same ManagedClusterAddOn. On a new one
// OCM is first, so that neither refuses the other's writes. OCM waits for the registration
// of one with configs of its own.
func TestFrameworkWaitsForConfiguration(t *testing.T) {
	own := []addonv1beta1.AddOnConfig{{ConfigGroupResource: install.DeploymentConfigs, ConfigReferent: addonv1beta1.ConfigReferent{Namespace: "cluster1", Name: "own"}}}
	tests := []struct {
		name       string
		configured metav1.ConditionStatus
		configs    []addonv1beta1.AddOnConfig
		writes     bool
	}{
		{"new", metav1.ConditionFalse, nil, false},
		{"new, with a config of its own", metav1.ConditionFalse, own, true},
		{"configured", metav1.ConditionTrue, nil, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := emptyHub(func(*addonfake.Clientset) {})
			addOn := hubobjects.AddOn("cluster1", "")
			addOn.OwnerReferences = []metav1.OwnerReference{{APIVersion: addonv1beta1.GroupVersion.String(), Kind: "ClusterManagementAddOn", Name: manifests.AddonName}}
			addOn.Status.Conditions[0].Status = test.configured
			addOn.Spec.Configs = test.configs
			addOns := c.addon.(*addonfake.Clientset)
			if err := errors.Join(addOns.Tracker().Add(addOn), c.cluster.(clienttesting.FakeClient).Tracker().Add(hubobjects.Cluster("cluster1"))); err != nil {
				t.Fatal(err)
			}
			i := newInformers(c, withLastKnown)
			order := turns.New(i.addon.Addon().V1beta1().ManagedClusterAddOns().Lister(), clock.RealClock{})
			controllers := newFramework(c.with(order), c.work, i, addon.New("image", c.kube, i.cache()), order)
			startInformers(t, i)
			addOns.ClearActions()
			for _, controller := range controllers {
				if !controller.perCluster {
					continue
				}
				if err := controller.reconcile(t.Context(), "cluster1/"+manifests.AddonName); err != nil {
					t.Errorf("%s: %v", controller.Name(), err)
				}
			}
			if writes := addOns.Actions(); len(writes) > 0 != test.writes {
				t.Errorf("the controllers wrote %v", writes)
			}
		})
	}
}
