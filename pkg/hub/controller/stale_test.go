package controller

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clienttesting "k8s.io/client-go/testing"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonfake "open-cluster-management.io/api/client/addon/clientset/versioned/fake"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	workfake "open-cluster-management.io/api/client/work/clientset/versioned/fake"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// The framework's own controllers run with a cache in which an add-on is that the
// hub no longer has, and with a garbage collector that deletes a work whose owner
// is gone. Without the check they create the work again and again: should a
// version of the framework no longer do that, the second case fails, and the
// check can go.
func TestNoWorkForAnAddonThatIsGone(t *testing.T) {
	const rounds = 5
	tests := []struct {
		name    string
		reason  string
		guarded bool
	}{
		{name: "checked", guarded: true, reason: "no work is created, however often the framework tries"},
		{name: "as the framework does it", reason: "a work for each that was collected"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var creates, questions atomic.Int32
			works := collectingWorks(&creates)
			hub := addonfake.NewSimpleClientset() // as it is: without the add-on
			hub.PrependReactor("get", "managedclusteraddons", func(clienttesting.Action) (bool, runtime.Object, error) {
				questions.Add(1)
				return false, nil, nil
			})
			var client workclient.Interface = works
			seen := &creates
			if test.guarded {
				client, seen = newWorks(works, hub), &questions
			}
			runOnStaleCache(t, works, client)

			err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true,
				func(context.Context) (bool, error) { return seen.Load() >= rounds, nil })
			if err != nil {
				t.Fatalf("%s: the framework tried %d times in a minute, want %d: %v", test.reason, seen.Load(), rounds, err)
			}
			if n := creates.Load(); test.guarded && n > 0 {
				t.Errorf("%s: %d works were created", test.reason, n)
			}
		})
	}
}

// collectingWorks is a client of a hub that deletes each new work at once, as the
// garbage collector does when it knows that the owner is gone. It counts them.
func collectingWorks(creates *atomic.Int32) *workfake.Clientset {
	works := workfake.NewSimpleClientset()
	works.PrependReactor("create", "manifestworks", func(action clienttesting.Action) (bool, runtime.Object, error) {
		creates.Add(1)
		create := action.(clienttesting.CreateAction)
		work := create.GetObject()
		name := work.(metav1.Object).GetName()
		if err := works.Tracker().Create(action.GetResource(), work, action.GetNamespace()); err != nil {
			return true, nil, err
		}
		return true, work, works.Tracker().Delete(action.GetResource(), action.GetNamespace(), name)
	})
	return works
}

// runOnStaleCache runs the framework, with client for its works, on caches that
// have an add-on ready to be deployed.
func runOnStaleCache(t *testing.T, works *workfake.Clientset, client workclient.Interface) {
	t.Helper()
	const cluster = "cluster1"
	condition := func(name string) metav1.Condition {
		return metav1.Condition{Type: name, Status: metav1.ConditionTrue, Reason: "Test"}
	}
	c := emptyHub(func(*addonfake.Clientset) {})
	c.work = works
	for _, err := range []error{
		c.cluster.(clienttesting.FakeClient).Tracker().Add(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}}),
		c.addon.(clienttesting.FakeClient).Tracker().Add(&addonv1beta1.ManagedClusterAddOn{
			ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: manifests.AddonName, UID: "gone"},
			Status: addonv1beta1.ManagedClusterAddOnStatus{Namespace: "default", Conditions: []metav1.Condition{
				condition(addonv1beta1.ManagedClusterAddOnRegistrationApplied),
				condition(addonv1beta1.ManagedClusterAddOnConditionConfigured),
			}},
		}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	i := newInformers(c, withLastKnown)
	runControllers(t, c, client, i)
}
