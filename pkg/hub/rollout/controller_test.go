package rollout

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonfake "open-cluster-management.io/api/client/addon/clientset/versioned/fake"
	addoninformers "open-cluster-management.io/api/client/addon/informers/externalversions"
	workfake "open-cluster-management.io/api/client/work/clientset/versioned/fake"
	workinformers "open-cluster-management.io/api/client/work/informers/externalversions"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/addon-framework/pkg/index"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/pkg/hub/rollout/plan"
	"open-cluster-management.io/helloworld-addon/pkg/hub/turns"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// world is a Controller that runs on a hub of fake clients.
type world struct {
	addOns *addonfake.Clientset
	works  *workfake.Clientset
	clock  *clocktesting.FakeClock
	// inspected counts the looks at add-ons, pending is what Inspect answers.
	inspected atomic.Int64
	pending   atomic.Bool
}

func run(t *testing.T, addOn *addonv1beta1.ManagedClusterAddOn, work *workv1.ManifestWork) *world {
	t.Helper()
	w := &world{addOns: addonfake.NewSimpleClientset(addOn), works: workfake.NewSimpleClientset(work), clock: clocktesting.NewFakeClock(noon)}
	addOns := addoninformers.NewSharedInformerFactory(w.addOns, 0)
	works := workinformers.NewSharedInformerFactory(w.works, 0)
	informer, workInformer := addOns.Addon().V1beta1().ManagedClusterAddOns().Informer(), works.Work().V1().ManifestWorks().Informer()
	if err := informer.AddIndexers(cache.Indexers{index.AddonByConfig: index.IndexAddonByConfig}); err != nil {
		t.Fatal(err)
	}
	controller := New(Config{
		AddOns: informer, Works: workInformer, Configs: addOns.Addon().V1beta1().AddOnDeploymentConfigs().Informer(),
		DeployWorks: func(*addonv1beta1.ManagedClusterAddOn) ([]*workv1.ManifestWork, error) {
			var found []*workv1.ManifestWork
			for _, object := range workInformer.GetStore().List() {
				found = append(found, object.(*workv1.ManifestWork))
			}
			return found, nil
		},
		Inspect: func(*addonv1beta1.ManagedClusterAddOn) plan.Inspection {
			w.inspected.Add(1)
			if w.pending.Load() {
				return plan.Inspection{Configured: true, Pending: "not yet"}
			}
			return plan.Inspection{Configured: true}
		},
		Turns:       turns.New(addOns.Addon().V1beta1().ManagedClusterAddOns().Lister(), w.clock),
		AddOnClient: w.addOns.AddonV1beta1(), WorkClient: w.works.WorkV1(), Clock: w.clock,
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	addOns.Start(ctx.Done())
	works.Start(ctx.Done())
	go func() { ended <- controller.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		addOns.Shutdown()
		works.Shutdown()
	})
	return w
}

// condition returns the status and reason of the add-on's condition, or nothing.
func (w *world) condition(t *testing.T, kind string) string {
	t.Helper()
	addOn, err := w.addOns.AddonV1beta1().ManagedClusterAddOns("cluster1").Get(t.Context(), "helloworld", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if c := meta.FindStatusCondition(addOn.Status.Conditions, kind); c != nil {
		return string(c.Status) + "/" + c.Reason
	}
	return ""
}

func (w *world) report(t *testing.T, work *workv1.ManifestWork) {
	t.Helper()
	if _, err := w.works.WorkV1().ManifestWorks(work.Namespace).Update(t.Context(), work, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, got func() string, want string) {
	t.Helper()
	last := ""
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		last = got()
		return last == want, nil
	})
	if err != nil {
		t.Fatalf("%s: got %q, want %q", what, last, want)
	}
}

// TestRolloutGoesOn: the annotation is written when the agent runs with the
// config, and a write that another one overtook is tried again.
func TestRolloutGoesOn(t *testing.T) {
	for _, test := range []struct {
		name string
		move func(*workv1.ManifestWork)
	}{
		{"in the cluster's own namespace", func(*workv1.ManifestWork) {}},
		{"on a hosting cluster", func(work *workv1.ManifestWork) {
			work.Namespace = "cluster2"
			work.Labels = map[string]string{addonv1beta1.AddonNamespaceLabelKey: "cluster1"}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			old := hubobjects.AgentWork("", hubobjects.With(hubobjects.RolledOut(), "configHash", "old"))
			test.move(old)
			w := run(t, hubobjects.DesiringAddOn("new"), old)
			annotation := func() string {
				work, err := w.works.WorkV1().ManifestWorks(old.Namespace).Get(t.Context(), old.Name, metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				return work.Annotations[workv1.ManifestConfigSpecHashAnnotationKey]
			}
			eventually(t, "an agent that runs", func() string { return w.condition(t, "Degraded") }, "False/AgentAvailable")
			if got := annotation(); got != "" {
				t.Fatalf("OCM is told %q of an agent that runs with the config of before", got)
			}

			var conflicts atomic.Int64
			w.works.PrependReactor("patch", "manifestworks", func(clienttesting.Action) (bool, runtime.Object, error) {
				if conflicts.Add(1) == 1 {
					return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "manifestworks"}, old.Name, errors.New("modified"))
				}
				return false, nil, nil
			})
			rolled := hubobjects.AgentWork("", hubobjects.RolledOut())
			test.move(rolled)
			w.report(t, rolled)
			eventually(t, "the rate limit after a conflict", w.stepping(annotation), hubobjects.DesiredHashes)
		})
	}
}

// TestFailureIsCounted: a failed write is retried, and handed to the program's error handlers, which log and count it.
func TestFailureIsCounted(t *testing.T) {
	handlers, handled := utilruntime.ErrorHandlers, atomic.Int64{}
	t.Cleanup(func() { utilruntime.ErrorHandlers = handlers })
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(context.Context, error, string, ...any) { handled.Add(1) }}
	w := run(t, hubobjects.DesiringAddOn("new"), hubobjects.AgentWork("", hubobjects.With(hubobjects.RolledOut(), "configHash", "old")))
	eventually(t, "an agent that runs", func() string { return w.condition(t, "Degraded") }, "False/AgentAvailable")
	w.works.PrependReactor("patch", "manifestworks", func(clienttesting.Action) (bool, runtime.Object, error) {
		return handled.Load() == 0, nil, errors.New("the API server rejects the write")
	})
	w.report(t, hubobjects.AgentWork("", hubobjects.RolledOut()))
	eventually(t, "the errors that were handled", w.stepping(func() string { return fmt.Sprint(handled.Load()) }), "1")
}

// TestBrokenAgentIsDegraded: the hub's clock counts, not the managed cluster's, and
// each outage counts from its own beginning.
func TestBrokenAgentIsDegraded(t *testing.T) {
	up := func() *workv1.ManifestWork {
		return hubobjects.AgentWork("", hubobjects.With(hubobjects.RolledOut(), "configHash", nil))
	}
	w := run(t, hubobjects.DesiringAddOn(""), up())
	degraded := func() string { return w.condition(t, "Degraded") }
	for _, outage := range []string{"first", "second"} {
		w.report(t, up())
		eventually(t, outage+" outage: an agent that runs", degraded, "False/AgentAvailable")
		w.settle(t)
		start := w.clock.Now()
		w.report(t, hubobjects.AgentWork("", hubobjects.With(hubobjects.With(hubobjects.RolledOut(), "configHash", nil), "availableReplicas", nil)))
		eventually(t, outage+" outage: an agent that does not come up", w.stepping(degraded), "True/AgentNotAvailable")
		if after := w.clock.Since(start); after < plan.StartGrace {
			t.Errorf("%s outage: an agent that starts is degraded after %s", outage, after)
		}
	}
}

// TestLateShipment: on a large fleet OCM configures the last clusters minutes after
// their add-ons were created. The work agent's time to report counts from the shipment.
func TestLateShipment(t *testing.T) {
	work := hubobjects.AgentWork("", nil)
	w := run(t, hubobjects.DesiringAddOn(""), work)
	if err := w.works.WorkV1().ManifestWorks(work.Namespace).Delete(t.Context(), work.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.settle(t)
	eventually(t, "the configuration of an add-on that waits", w.stepping(func() string { return w.condition(t, plan.ConditionConfigurationValid) }), "True/AsExpected")
	w.settle(t)
	start := w.clock.Now()
	if _, err := w.works.WorkV1().ManifestWorks(work.Namespace).Create(t.Context(), work, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.settle(t)
	eventually(t, "a work agent that does not report", w.stepping(func() string { return w.condition(t, "Degraded") }), "Unknown/NotReported")
	if after := w.clock.Since(start); after < plan.StartGrace {
		t.Errorf("it is said not to report %s after the shipment", after)
	}
}

// A controller that has to end reconciles nothing more, however much is queued: another
// replica waits for the lease.
func TestEndWithAFullQueue(t *testing.T) {
	addOns := addoninformers.NewSharedInformerFactory(addonfake.NewSimpleClientset(), 0).Addon().V1beta1().ManagedClusterAddOns()
	now := clocktesting.NewFakeClock(noon)
	controller := New(Config{AddOns: addOns.Informer(), Turns: turns.New(addOns.Lister(), now), Clock: now})
	controller.queue.Add("cluster1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if controller.next(ctx) {
		t.Error("it goes on after its end")
	}
}

// TestEditedConfigIsGivenTime: OCM's add-on manager moves the desired hash soon
// after an edit; until then nothing is written.
func TestEditedConfigIsGivenTime(t *testing.T) {
	w := run(t, hubobjects.DesiringAddOn("new"), hubobjects.AgentWork(hubobjects.DesiredHashes, hubobjects.RolledOut()))
	valid := func() string { return w.condition(t, plan.ConditionConfigurationValid) }
	eventually(t, "a config that is used", valid, "True/AsExpected")
	w.settle(t)

	w.pending.Store(true)
	start := w.clock.Now()
	config := &addonv1beta1.AddOnDeploymentConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "configs", Name: "config"}}
	if _, err := w.addOns.AddonV1beta1().AddOnDeploymentConfigs("configs").Create(t.Context(), config, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a config that stays pending", w.stepping(valid), "Unknown/Pending")
	if after := w.clock.Since(start); after < settleTime {
		t.Errorf("it is said to be pending after %s", after)
	}
}

// stepping returns a function that lets a second pass before it calls got.
func (w *world) stepping(got func() string) func() string {
	return func() string {
		w.clock.Step(time.Second)
		return got()
	}
}

// settle waits until the Controller has looked at its own last write.
func (w *world) settle(t *testing.T) {
	t.Helper()
	looks := int64(-1)
	eventually(t, "the last look", func() string {
		before := looks
		looks = w.inspected.Load()
		time.Sleep(20 * time.Millisecond)
		return fmt.Sprint(looks == before)
	}, "true")
}
