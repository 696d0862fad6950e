package syncer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer/plan"
)

// rights is an API server without objects that forbids to list some resources, in all namespaces or in some.
type rights struct {
	client.Client
	created chan *unstructured.Unstructured

	mu     sync.Mutex
	denied map[schema.GroupResource][]string
}

func (r *rights) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	options := &client.ListOptions{}
	options.ApplyOptions(opts)
	gvk := list.GetObjectKind().GroupVersionKind()
	resource := schema.GroupResource{Group: gvk.Group, Resource: strings.ToLower(strings.TrimSuffix(gvk.Kind, "List")) + "s"}
	r.mu.Lock()
	defer r.mu.Unlock()
	if options.Limit != 1 {
		return errors.New("it lists more than it needs")
	}
	if slices.Contains(r.denied[resource], options.Namespace) {
		return apierrors.NewForbidden(resource, "", errors.New("no right"))
	}
	return nil
}

func (r *rights) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	r.created <- object.(*unstructured.Unstructured)
	return nil
}

func (r *rights) deny(resource schema.GroupResource, namespaces ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.denied = map[schema.GroupResource][]string{resource: namespaces}
}

// named is a database with a row of spec.subscriptions for every uid, named uid in the namespace of its first letter.
type named struct {
	status.Reader
	read chan string
}

func (n named) Read(_ context.Context, keys []status.Key) (status.Snapshot, error) {
	n.read <- keys[0].ID
	return status.Snapshot{Objects: []status.Object{{Key: keys[0], Found: true, Namespace: keys[0].ID[:1], Name: keys[0].ID,
		Payloads: []status.PayloadRow{{LeafHub: "hub1", Payload: []byte(`{"summary":{"clusters":"1"}}`)}}}}}, nil
}

// watching is a syncer of SubscriptionReports that runs.
type watching struct {
	*kindSyncer
	*rights
	*testing.T
	read  chan string
	clock *testclock.FakeClock
	log   ktesting.Buffer
}

var subscriptions = schema.GroupResource{Group: "apps.open-cluster-management.io", Resource: "subscriptions"}

func startWatching(t *testing.T, denied schema.GroupResource, namespaces ...string) *watching {
	t.Helper()
	w := &watching{T: t, rights: &rights{created: make(chan *unstructured.Unstructured, 10)}, read: make(chan string, 10), clock: testclock.NewFakeClock(time.Unix(10_000, 0))}
	if w.deny(denied, ""); len(namespaces) > 0 {
		w.deny(denied, namespaces[len(namespaces)-1])
	}
	keys := newTestKeys(t, w.clock, status.KindSubscriptionReport)
	keys.publish(status.Heartbeats{})
	w.kindSyncer = newKindSyncer(kindEntry(t, status.KindSubscriptionReport), keys, kindSyncer{store: named{read: w.read}, live: w.rights,
		writer: w.rights, caches: syncedCache{}, clock: w.clock, workers: 1, namespaces: namespaces})
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	w.log = logger.GetSink().(ktesting.Underlier).GetBuffer()
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), logger))
	ended := make(chan error)
	go func() { ended <- w.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *watching) request(id string) {
	w.queue.request(status.Key{Kind: status.KindSubscriptionReport, ID: id}, time.Time{})
}

// logged passes the time until the log has a text.
func (w *watching) logged(text string) {
	w.Helper()
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(w.log.String(), text); <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("the log has no %q:\n%s", text, w.log.String())
		}
		w.clock.Step(time.Second)
	}
}

// ends requests a key and waits until its sync has ended.
func (w *watching) ends(id string) {
	w.Helper()
	w.request(id)
	working := func() bool {
		w.queue.mu.Lock()
		defer w.queue.mu.Unlock()
		p := w.queue.progress[status.Key{Kind: status.KindSubscriptionReport, ID: id}]
		return p.Pending.Cause != plan.NoCause || p.Running.Cause != plan.NoCause
	}
	for deadline := time.Now().Add(30 * time.Second); working(); <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("%s is not synced", id)
		}
	}
}

func next[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case value := <-c:
		return value
	case <-time.After(30 * time.Second):
		t.Fatal(what)
		panic("not reached")
	}
}

// TestOwnersForbidden: without the right to watch Subscriptions the reports are synced all the same, with the owner of the
// row. When the right is granted, the owners of this hub alone count.
func TestOwnersForbidden(t *testing.T) {
	w := startWatching(t, subscriptions)
	w.request("uid")
	created := next(t, "nothing is created", w.created)
	owner := created.GetOwnerReferences()[0]
	if diff := cmp.Diff([]string{"u", "uid", "Subscription", "uid", "uid"},
		[]string{created.GetNamespace(), created.GetName(), owner.Kind, owner.Name, string(owner.UID)}); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	w.logged(`Watching the owners is forbidden, taking their names from the database kind="SubscriptionReport" gvk="apps.open-cluster-management.io/v1, Kind=Subscription" ` +
		`missingRule="{apiGroups: [apps.open-cluster-management.io], resources: [subscriptions], verbs: [list, watch]}`)
	w.deny(schema.GroupResource{})
	w.logged("Watching the owners kind=")
	<-w.read
	w.ends("unknown")
	if len(w.read) > 0 || len(w.created) > 0 {
		t.Error("a report is created for a Subscription that this hub does not have")
	}
}

// TestOwnersForbiddenInNamespace: an owner that is taken from its row counts in the watched namespaces alone.
func TestOwnersForbiddenInNamespace(t *testing.T) {
	w := startWatching(t, subscriptions, "a", "b")
	w.request("c-outside")
	next(t, "the first key is not read", w.read)
	w.request("b-inside")
	if created := next(t, "nothing is created", w.created); created.GetName() != "b-inside" {
		t.Errorf("%s/%s is created", created.GetNamespace(), created.GetName())
	}
}

// TestKindForbidden: a kind without rights waits, and its log names the missing rule.
func TestKindForbidden(t *testing.T) {
	reports := schema.GroupResource{Group: subscriptions.Group, Resource: "subscriptionreports"}
	w := startWatching(t, reports)
	w.logged(`missingRule="{apiGroups: [apps.open-cluster-management.io], resources: [subscriptionreports], verbs: [get, list, watch]}`)
	if strings.Contains(w.log.String(), "Syncing status") {
		t.Error("it syncs")
	}
	w.deny(schema.GroupResource{})
	w.logged("Syncing status")
}
