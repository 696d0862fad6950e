package controller

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/utils/clock"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/basecontroller/factory"

	"open-cluster-management.io/addon-framework/pkg/addonmanager/constants"
	"open-cluster-management.io/addon-framework/pkg/index"

	"open-cluster-management.io/helloworld-addon/pkg/hub/addon"
	"open-cluster-management.io/helloworld-addon/pkg/hub/turns"
)

// popped returns all keys of a queue in its order.
func popped(queue workqueue.TypedInterface[string]) []string {
	var keys []string
	for queue.Len() > 0 {
		key, _ := queue.Get()
		queue.Done(key)
		keys = append(keys, key)
	}
	return keys
}

// TestQueueOrder: an urgent key overtakes the others, and keys of one kind keep their order. A key that is added again keeps
// its place. After eight urgent keys it is the turn of one of the others.
func TestQueueOrder(t *testing.T) {
	tests := []struct{ name, keys, want string }{
		{"urgent first", "o1 o2 u1 u2", "u1 u2 o1 o2"},
		{"added again", "o1 o2 u1 o1 u1 u2", "u1 u2 o1 o2"},
		{"nothing urgent", "o1 o2", "o1 o2"},
		{"always something urgent", "o1 o2 u1 u2 u3 u4 u5 u6 u7 u8 u9", "u1 u2 u3 u4 u5 u6 u7 u8 o1 u9 o2"},
		{"only urgent ones", "u1 u2 u3 u4 u5 u6 u7 u8 u9", "u1 u2 u3 u4 u5 u6 u7 u8 u9"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			queue := newQueue("", func(key string) bool { return strings.HasPrefix(key, "u") })
			defer queue.ShutDown()
			for key := range strings.FieldsSeq(test.keys) {
				queue.Add(key)
			}
			if diff := cmp.Diff(test.want, strings.Join(popped(queue), " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestQueueLooksWhenAKeyBeginsToWait: a cluster that got its agent in a reconcile is not urgent after it, and a key that waits
// keeps its place.
func TestQueueLooksWhenAKeyBeginsToWait(t *testing.T) {
	urgent := true
	queue := newQueue("", func(key string) bool { return key == "new" || urgent })
	defer queue.ShutDown()
	queue.Add("shipped")
	key, _ := queue.Get()
	queue.Add(key)
	urgent = false
	queue.Add("old")
	queue.Done(key)
	queue.Add("new")
	urgent = true
	queue.Add("shipped")
	if diff := cmp.Diff([]string{"new", "old", "shipped"}, popped(queue)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFrameworkReconcilesFirst: what the framework queues is reconciled in the queue's order.
func TestFrameworkReconcilesFirst(t *testing.T) {
	before := addsOf(t, "test-urgent-first")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var queued atomic.Int32
	var got []string
	controller := factory.New().WithSync(func(ctx context.Context, _ factory.SyncContext, key string) error {
		if key == "gate" {
			for queued.Load() < 3 && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			return nil
		}
		if got = append(got, key); len(got) == 2 {
			cancel()
		}
		return nil
	}).ToController("test")
	for _, key := range []string{"gate", "old", "new"} {
		controller.SyncContext().Queue().Add(key)
	}
	runFramework(ctx, []frameworkController{{Controller: controller, workers: 1, urgent: func(key string) bool {
		queued.Add(1)
		return key != "old"
	}}}, nil)
	if diff := cmp.Diff([]string{"new", "old"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if adds := addsOf(t, "test-urgent-first") - before; adds != 3 {
		t.Errorf("the metrics count %g keys, want 3", adds)
	}
}

// addsOf returns how many keys were added to the queues of a name, by the metrics of this process.
func addsOf(t *testing.T, queue string) float64 {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	adds := 0.0
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "workqueue_adds_total" && metric.GetLabel()[0].GetValue() == queue {
				adds += metric.GetCounter().GetValue()
			}
		}
	}
	return adds
}

// TestNewClustersFirst: both controllers that work until an agent is shipped prefer the clusters that wait for theirs.
func TestNewClustersFirst(t *testing.T) {
	c := emptyHub(nothing)
	i := newInformers(c, withLastKnown)
	order := turns.New(i.addon.Addon().V1beta1().ManagedClusterAddOns().Lister(), clock.RealClock{})
	controllers := newFramework(c, c.work, i, addon.New("image", c.kube, i.cache()), order)
	if err := i.work.Work().V1().ManifestWorks().Informer().GetIndexer().Add(addOnWork("cluster1", "")); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, controller := range controllers {
		if !controller.perCluster {
			continue
		}
		names = append(names, controller.Name())
		if controller.urgent == nil || controller.urgent("cluster1/helloworld") || !controller.urgent("cluster2/helloworld") {
			t.Errorf("%s does not reconcile cluster2, which has no agent, before cluster1", controller.Name())
		}
	}
	if diff := cmp.Diff([]string{"addon-deploy-controller", "addon-registration-controller"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// addOnWork is a ManifestWork of the add-on of a cluster, or in hosted mode for another one.
func addOnWork(namespace, hostedFor string) *workv1.ManifestWork {
	labels := map[string]string{addonv1beta1.AddonLabelKey: "helloworld"}
	if hostedFor != "" {
		labels[addonv1beta1.AddonNamespaceLabelKey] = hostedFor
	}
	return &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "addon-helloworld-deploy-0", Labels: labels}}
}

// TestWithoutWork: a cluster waits for its agent until it has a ManifestWork of the add-on.
func TestWithoutWork(t *testing.T) {
	other, plain, hook := addOnWork("cluster1", ""), addOnWork("cluster1", ""), addOnWork("cluster1", "")
	hook.Name = constants.PreDeleteHookWorkName("helloworld")
	other.Labels[addonv1beta1.AddonLabelKey], plain.Labels = "other", nil
	tests := []struct {
		name, reason string
		work         *workv1.ManifestWork
		want         bool
	}{
		{"none", "the agent is to be shipped", nil, true},
		{"its work", "the agent has been shipped", addOnWork("cluster1", ""), false},
		{"hosted", "the agent has been shipped to the hosting cluster", addOnWork("hosting", "cluster1"), false},
		{"of another cluster", "each cluster has its own agent", addOnWork("cluster2", ""), true},
		{"of another add-on", "it has another agent", other, true},
		{"of the hook", "it removes the agent", hook, true},
		{"of no add-on", "it is a user's own", plain, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			works := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
				index.ManifestWorkByAddon: index.IndexManifestWorkByAddon, index.ManifestWorkByHostedAddon: index.IndexManifestWorkByHostedAddon})
			if test.work != nil {
				if err := works.Add(test.work); err != nil {
					t.Fatal(err)
				}
			}
			if got := withoutWork(works)("cluster1/helloworld"); got != test.want {
				t.Errorf("got %t, want %t: %s", got, test.want, test.reason)
			}
		})
	}
}
