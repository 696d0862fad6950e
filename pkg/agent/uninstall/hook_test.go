package uninstall

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
	"open-cluster-management.io/helloworld-addon/pkg/agent/kubeclient"
	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror/plan"
)

const (
	namespace = "copies"
	marker    = "helloworld-agent-uninstall"
)

// cluster is a managed cluster on which a hook runs. The fake clock jumps over every
// wait of the hook.
type cluster struct {
	t     *testing.T
	api   *fakeapi.Server
	clock *clocktesting.FakeClock
	said  chan string
	ended chan error
	// deaf makes reports to the hub fail, ownerless the search for the marker's owner.
	deaf, ownerless atomic.Bool
	// removed counts the reports that every copy is removed.
	removed atomic.Int32
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, api: runtest.NewAPI(t), clock: clocktesting.NewFakeClock(time.Unix(0, 0)),
		said: make(chan string, 1000), ended: make(chan error, 1)}
	return c
}

func (c *cluster) put(name string, labels, annotations map[string]string, finalizers ...string) {
	c.api.Put("configmaps", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace,
		Labels: labels, Annotations: annotations, Finalizers: finalizers}})
}

func (c *cluster) putCopy(name string, finalizers ...string) {
	c.put(name, map[string]string{"app.kubernetes.io/managed-by": "helloworld-agent"},
		map[string]string{"helloworld.open-cluster-management.io/source": "cluster1/" + name}, finalizers...)
}

func (c *cluster) start(ctx context.Context) {
	c.t.Helper()
	client, err := kubeclient.New(c.api.Config())
	if err != nil {
		c.t.Fatal(err)
	}
	hook := New(Config{
		Scope: plan.Scope{HubNamespace: "cluster1", InstallNamespace: namespace}, AddOn: "uid-1",
		Owner:  c.owner,
		Client: client.ConfigMaps(namespace), Leases: client.Leases(namespace), Clock: c.clock,
		Report: c.report, ReportRemoved: c.reportRemoved,
	})
	go func() { c.ended <- hook.Run(ctx) }()
}

func (c *cluster) owner(context.Context) (*metav1.OwnerReference, error) {
	if c.ownerless.Load() {
		return nil, errors.New("no owner to be found")
	}
	return &metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "job-uid"}, nil
}

func (c *cluster) report(_ context.Context, message string) error {
	if c.deaf.Load() {
		return errors.New("the hub is away")
	}
	c.said <- message
	return nil
}

func (c *cluster) reportRemoved(context.Context) error {
	c.removed.Add(1)
	if c.deaf.Load() {
		return errors.New("the hub is away")
	}
	return nil
}

// until advances the clock until the condition holds.
func (c *cluster) until(what string, condition func() bool) {
	c.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			c.t.Fatalf("%s: not within 20 s", what)
		}
		if c.clock.HasWaiters() {
			c.clock.Step(2 * time.Second)
		}
		time.Sleep(20 * time.Microsecond)
	}
}

func (c *cluster) untilEnded() {
	c.t.Helper()
	c.until("ended", func() bool { return len(c.ended) > 0 })
	if err := <-c.ended; err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) names() []string {
	var names []string
	for _, name := range []string{"a", "b", "foreign", "label-only", "of-another", marker, "kube-root-ca.crt"} {
		if c.api.Get("configmaps", namespace, name) != nil {
			names = append(names, name)
		}
	}
	return names
}

// answer answers on the marker as an agent does.
func (c *cluster) answer() {
	cm := c.api.Get("configmaps", namespace, marker).(*corev1.ConfigMap)
	cm.Annotations = map[string]string{"helloworld.open-cluster-management.io/stopped": cm.Labels["helloworld.open-cluster-management.io/uninstall"]}
	c.api.Put("configmaps", cm)
}

func (c *cluster) marked() bool { return c.api.Get("configmaps", namespace, marker) != nil }

func TestHookRemovesExactlyTheCopies(t *testing.T) {
	c := newCluster(t)
	c.putCopy("a")
	c.putCopy("b")
	c.put("foreign", nil, nil)
	c.put("label-only", map[string]string{"app.kubernetes.io/managed-by": "helloworld-agent"}, nil)
	c.put("of-another", map[string]string{"app.kubernetes.io/managed-by": "helloworld-agent"},
		map[string]string{"helloworld.open-cluster-management.io/source": "cluster10/of-another"})
	c.putCopy("kube-root-ca.crt")
	c.putLease("helloworld")
	c.putLease("of-another-add-on")
	c.start(t.Context())
	c.until("marked", c.marked)
	c.answer()
	c.untilEnded()
	if c.api.Get("leases", namespace, "helloworld") != nil {
		t.Error("the lease is left behind")
	}
	if c.api.Get("leases", namespace, "of-another-add-on") == nil {
		t.Error("another add-on's lease is gone")
	}
	if diff := cmp.Diff([]string{"foreign", "label-only", "of-another", marker, "kube-root-ca.crt"}, c.names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if owner := c.api.Get("configmaps", namespace, marker).GetOwnerReferences(); len(owner) != 1 || owner[0].UID != "job-uid" {
		t.Errorf("the marker does not go with its owner: %v", owner)
	}
}

// TestHookWaitsForTheAgent: no copy is deleted before the agent has stopped, because
// the agent would restore it. Without an agent the hook completes after a while.
func TestHookWaitsForTheAgent(t *testing.T) {
	c := newCluster(t)
	c.putCopy("a")
	c.start(t.Context())
	c.until("marked", c.marked)
	start := c.clock.Now()
	c.until("10 s later", func() bool { return c.clock.Since(start) >= 10*time.Second })
	if diff := cmp.Diff([]string{"a", marker}, c.names()); diff != "" {
		t.Errorf("deleted without an answer (-want +got):\n%s", diff)
	}
	c.untilEnded()
	if diff := cmp.Diff([]string{marker}, c.names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHookSeesACopyThatComesBack: an agent that has not answered may still write, so
// one list without copies is not enough.
func TestHookSeesACopyThatComesBack(t *testing.T) {
	c := newCluster(t)
	c.putCopy("a")
	var back atomic.Bool
	c.api.After = func(r fakeapi.Request) *apierrors.StatusError {
		if r.Verb == "list" && c.api.Get("configmaps", namespace, "a") == nil && back.CompareAndSwap(false, true) {
			c.putCopy("b")
		}
		return nil
	}
	c.start(t.Context())
	c.untilEnded()
	if !back.Load() {
		t.Fatal("nothing came back")
	}
	if diff := cmp.Diff([]string{marker}, c.names()); diff != "" {
		t.Errorf("it ended with copies there (-want +got):\n%s", diff)
	}
}

func TestHookTellsOfFinalizers(t *testing.T) {
	c := newCluster(t)
	c.putCopy("a", "example.com/hold")
	c.putCopy("b")
	c.start(t.Context())
	c.until("said", func() bool { return len(c.said) > 0 })
	if diff := cmp.Diff("removing the copies: 1 of 2 left: a (held by finalizers example.com/hold)", <-c.said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	start := c.clock.Now()
	c.until("ten minutes later", func() bool { return c.clock.Since(start) > 10*time.Minute })
	if len(c.ended) > 0 || len(c.said) > 0 {
		t.Errorf("it ended, or says the same again")
	}
	cm := c.api.Get("configmaps", namespace, "a").(*corev1.ConfigMap)
	cm.Finalizers = nil
	c.api.Put("configmaps", cm)
	c.api.Remove("configmaps", namespace, "a")
	c.untilEnded()
}

func TestHookIsNoSuccessWhenItIsEnded(t *testing.T) {
	c := newCluster(t)
	c.putCopy("a")
	ctx, cancel := context.WithCancel(t.Context())
	c.start(ctx)
	c.until("marked", c.marked)
	cancel()
	if err := <-c.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want an error", err)
	}
}

func TestHookTakesNobodysMarker(t *testing.T) {
	c := newCluster(t)
	c.putCopy("a")
	c.put(marker, map[string]string{"theirs": "yes"}, nil)
	c.start(t.Context())
	if said := func() string {
		c.until("said", func() bool { return len(c.said) > 0 })
		return <-c.said
	}(); !strings.Contains(said, "is in the way") {
		t.Errorf("it says %q", said)
	}
	c.api.Remove("configmaps", namespace, marker)
	c.untilEnded()
}

func TestHookFollowsAnEarlierOne(t *testing.T) {
	c := newCluster(t)
	c.put(marker, map[string]string{"helloworld.open-cluster-management.io/uninstall": "before"},
		map[string]string{"helloworld.open-cluster-management.io/stopped": "before"})
	c.start(t.Context())
	c.until("marked anew", func() bool {
		return c.api.Get("configmaps", namespace, marker).GetLabels()["helloworld.open-cluster-management.io/uninstall"] == "uid-1"
	})
	if len(c.api.Get("configmaps", namespace, marker).GetAnnotations()) > 0 {
		t.Error("the answer to the earlier one counts for this one")
	}
	c.untilEnded()
}

// TestHookTellsAHubThatWasAway: a report that failed is repeated when the hub answers
// again, though nothing has changed since.
func TestHookTellsAHubThatWasAway(t *testing.T) {
	c := newCluster(t)
	c.deaf.Store(true)
	c.putCopy("a", "example.com/hold")
	c.start(t.Context())
	start := c.clock.Now()
	c.until("ten minutes later", func() bool { return c.clock.Since(start) > 10*time.Minute })
	c.deaf.Store(false)
	c.until("said", func() bool { return len(c.said) > 0 })
	if diff := cmp.Diff("removing the copies: 1 of 1 left: a (held by finalizers example.com/hold)", <-c.said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHookSaysThatItFindsNoOwner: an error before the first step is reported, too.
func TestHookSaysThatItFindsNoOwner(t *testing.T) {
	c := newCluster(t)
	c.ownerless.Store(true)
	c.putCopy("a")
	c.start(t.Context())
	c.until("said", func() bool { return len(c.said) > 0 })
	if diff := cmp.Diff("no owner to be found", <-c.said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a"}, c.names()); diff != "" {
		t.Errorf("it went on (-want +got):\n%s", diff)
	}
	c.ownerless.Store(false)
	c.untilEnded()
}

// TestHookIsNotHasty: if copies come back again and again, though an agent has
// answered, the hook backs off and reports them.
func TestHookIsNotHasty(t *testing.T) {
	c := newCluster(t)
	var stop atomic.Bool
	var lists atomic.Int64
	c.api.Before = func(r fakeapi.Request) *apierrors.StatusError {
		if r.Verb == "list" && !stop.Load() {
			// The first list of each pass shows no copy, the second one does.
			if lists.Add(1)%2 == 0 {
				c.putCopy("a")
			} else {
				c.api.Remove("configmaps", namespace, "a")
			}
		}
		return nil
	}
	c.start(t.Context())
	c.until("marked", c.marked)
	c.answer()
	start := c.clock.Now()
	c.until("ten minutes later", func() bool { return c.clock.Since(start) > 10*time.Minute })
	if requests := len(c.api.Requests()); requests > 400 {
		t.Errorf("%d requests in 10 minutes", requests)
	}
	if said := <-c.said; said != "removing the copies: 1 of 1 left: a" {
		t.Errorf("it says %q", said)
	}
	stop.Store(true)
	c.untilEnded()
}

func (c *cluster) putLease(name string) {
	c.api.Put("leases", &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}})
}

// TestHookDropsTheLeaseLast: the lease stays while a copy is left, and the hook
// completes only when the lease is deleted.
func TestHookDropsTheLeaseLast(t *testing.T) {
	c := newCluster(t)
	c.putCopy("a", "example.com/hold")
	c.putLease("helloworld")
	var refuse atomic.Bool
	refuse.Store(true)
	c.api.Before = func(r fakeapi.Request) *apierrors.StatusError {
		if refuse.Load() && r.Verb == "delete" && r.Resource == "leases" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "helloworld", errors.New("no"))
		}
		return nil
	}
	c.start(t.Context())
	c.until("said what holds a copy", func() bool { return len(c.said) > 0 })
	<-c.said
	if deletes := c.deletes("leases"); deletes > 0 {
		t.Error("the lease was to be deleted before the last copy was gone")
	}
	cm := c.api.Get("configmaps", namespace, "a").(*corev1.ConfigMap)
	cm.Finalizers = nil
	c.api.Put("configmaps", cm)
	c.api.Remove("configmaps", namespace, "a")
	c.until("said what keeps the lease", func() bool { return len(c.said) > 0 })
	if said := <-c.said; !strings.Contains(said, "delete Lease helloworld: ") {
		t.Errorf("it says %q", said)
	}
	if len(c.ended) > 0 {
		t.Fatal("it ended with the lease there")
	}
	refuse.Store(false)
	c.untilEnded()
	if c.api.Get("leases", namespace, "helloworld") != nil {
		t.Error("the lease is left behind")
	}
}

func (c *cluster) deletes(resource string) (n int) {
	for _, r := range c.api.Requests() {
		if r.Verb == "delete" && r.Resource == resource {
			n++
		}
	}
	return n
}
