//go:build postgres

package hubofhubs

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer"
)

// gate is a database whose answers about one kind can be held back: the sync has read
// the rows and does not know it yet. Only new rows are held back, because the sync may
// read the rows of an object once more after it has written it.
type gate struct {
	syncer.Store
	kind  status.Kind
	reads atomic.Int64

	mu sync.Mutex
	// last are the rows of each key's previous answer.
	last    map[status.Key]string
	closed  chan struct{}
	waiting chan struct{}
}

func (g *gate) Read(ctx context.Context, keys []status.Key) (status.Snapshot, error) {
	snapshot, err := g.Store.Read(ctx, keys)
	g.reads.Add(1)
	if err != nil || keys[0].Kind != g.kind {
		return snapshot, err
	}
	if closed := g.holds(snapshot.Objects[0]); closed != nil {
		<-closed
	}
	return snapshot, nil
}

// holds returns the channel to wait for before rows are answered, nil if there is none.
func (g *gate) holds(object status.Object) <-chan struct{} {
	rows := rowsOf(object)
	g.mu.Lock()
	defer g.mu.Unlock()
	if before, found := g.last[object.Key]; found && before == rows {
		return nil
	}
	if g.last == nil {
		g.last = map[status.Key]string{}
	}
	g.last[object.Key] = rows
	select {
	case g.waiting <- struct{}{}: // nil, and never ready, while the gate is open
	default:
	}
	return g.closed
}

// rowsOf returns the rows of an object as text, in an order of their own.
func rowsOf(object status.Object) string {
	var rows []string
	for _, row := range object.Compliance {
		rows = append(rows, fmt.Sprintf("%+v", row))
	}
	for _, row := range object.Payloads {
		rows = append(rows, fmt.Sprintf("%s %d %s", row.LeafHub, row.Count, row.Payload))
	}
	slices.Sort(rows)
	return strings.Join(rows, "\n")
}

// shut holds answers back from now on; waiting has a value when one is held.
func (g *gate) shut() (waiting chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed, g.waiting = make(chan struct{}), make(chan struct{}, 1)
	return g.waiting
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.closed)
	g.closed, g.waiting = nil, nil
}

// syncBehind starts a status sync behind a gate.
func (w *world) syncBehind(g *gate, change ...func(*syncer.Options)) *running {
	w.Helper()
	return w.syncThrough(func(store syncer.Store) syncer.Store {
		g.Store = store
		return g
	}, change...)
}

// failures is how often turns of a kind failed for a reason, in this process.
func (w *world) failures(kind status.Kind, reason string) float64 {
	w.Helper()
	return w.metric("errors_total", map[string]string{"kind": string(kind), "reason": reason})
}

// TestTwoByMistake: two syncs without leader election, while everything changes.
// A watch of the objects sees only states that were true, in their order.
func TestTwoByMistake(t *testing.T) {
	w := newWorld(t)
	c := w.changer(1, w.oneOfEach())
	w.exec("DELETE FROM status.placementdecisions") // more than one object could hold
	history := w.watchHistory()
	one, two := &gate{}, &gate{}
	w.syncBehind(one)
	w.syncBehind(two)
	for range 100 {
		c.change()
		history.truth()
		c.moment(20 * time.Millisecond)
	}
	count := history.check()
	t.Logf("writes seen: %v; rows read %d and %d times", count, one.reads.Load(), two.reads.Load())
	for _, key := range w.keys {
		if count[key.Kind] < 10 {
			t.Errorf("only %d writes of %s were seen: the test shows too little", count[key.Kind], key.Kind)
		}
	}
	if one.reads.Load() < 50 || two.reads.Load() < 50 {
		t.Error("one of the two did not work: the test shows too little")
	}
}

// TestRivalInTheMiddle: a sync has read its rows and writes them only after another
// one has written newer ones, or has made the object: its write is refused.
func TestRivalInTheMiddle(t *testing.T) {
	for _, kind := range []status.Kind{status.KindPolicy, status.KindPlacement, status.KindSubscriptionReport} {
		t.Run(string(kind), func(t *testing.T) {
			w := newWorld(t)
			c := w.changer(2, w.oneOfEach())
			w.exec("DELETE FROM status.placementdecisions")
			history := w.watchHistory()
			slow := &gate{kind: kind}
			held := slow.shut()
			w.syncBehind(slow)
			w.wait(held)
			before, foreign := w.failures(kind, "conflict"), w.failures(kind, "foreign")
			c.change()
			history.truth()
			w.sync()
			w.converge()
			slow.open()
			w.eventually("the late write is refused", func() error {
				if w.failures(kind, "conflict") == before {
					return errors.New("no conflict")
				}
				return nil
			})
			if w.failures(kind, "foreign") != foreign {
				t.Error("an object of the other sync is counted as foreign")
			}
			history.check()
		})
	}
}

func (w *world) wait(signal chan struct{}) {
	w.Helper()
	select {
	case <-signal:
	case <-time.After(patience):
		w.Fatal("it did not come")
	}
}

// TestRivalDeletes: a sync wants to remove an object, and does so only after another
// one has filled it anew: its delete is refused.
func TestRivalDeletes(t *testing.T) {
	w := newWorld(t)
	ids := w.oneOfEach()
	w.keys = []status.Key{{Kind: status.KindPlacementDecision, ID: ids["placement"]}}
	fill := func(count int) {
		w.exec("UPDATE status.placementdecisions SET payload = jsonb_set(payload, '{status,decisions}', $1) WHERE leaf_hub_name = 'hub1'",
			asJSON(decisions(many("later", count)...)))
	}
	slow := &gate{kind: status.KindPlacementDecision}
	w.syncBehind(slow)
	w.converge()
	second, err := w.get(entryOf(status.KindPlacementDecision).Object, w.namespace, "placement-decision-2")
	w.must(err)
	held := slow.shut()
	fill(10)
	w.wait(held)
	fill(120)
	w.sync()
	w.converge()
	before := w.failures(status.KindPlacementDecision, "conflict")
	slow.open()
	w.eventually("the late delete is refused", func() error {
		if w.failures(status.KindPlacementDecision, "conflict") == before {
			return errors.New("no conflict")
		}
		return nil
	})
	w.converge()
	if now, err := w.get(second.GroupVersionKind(), w.namespace, second.GetName()); err != nil || now.GetUID() != second.GetUID() {
		t.Errorf("the object was removed: %v", err)
	}
}

// TestCreatedLate: what cannot be refused is a create, so an object can come back
// for a moment that another sync has made and removed in the meantime. It goes
// again.
func TestCreatedLate(t *testing.T) {
	w := newWorld(t)
	w.oneOfEach()
	slow := &gate{kind: status.KindSubscriptionReport}
	held := slow.shut()
	w.syncBehind(slow)
	w.wait(held)
	w.sync()
	w.converge()
	w.exec("DELETE FROM status.subscription_reports")
	w.converge()
	slow.open()
	w.beat("hub1", time.Hour)
	w.converge()
}

// TestLeaderLost: a leader is cut off in the middle of a sync, and another one takes
// over. When the first is back, and does not know it yet, it goes on with what it
// read: nothing of it is written.
func TestLeaderLost(t *testing.T) {
	w := newWorld(t)
	id := w.policy("policy")
	w.comply(id, "hub1", "a", "compliant")
	target, err := url.Parse(address(hub))
	w.must(err)
	through := newProxy(t, target.Host)
	elected := func(o *syncer.Options) { o.LeaderElect = true }
	slow := &gate{kind: status.KindPolicy}
	first := w.syncBehind(slow, elected, func(o *syncer.Options) {
		o.Kubeconfig = w.kubeconfig("hub-of-hubs-status-sync", "https://"+through.address())
	})
	w.converge()
	history := w.watchHistory()
	held := slow.shut()
	w.comply(id, "hub1", "a", "unknown")
	history.truth()
	w.wait(held)

	through.set(true)
	w.eventually("the lock is free", w.freeLock)
	w.sync(elected)
	w.comply(id, "hub1", "a", "non_compliant")
	history.truth()
	w.field(status.KindPolicy, w.namespace, "policy", "NonCompliant", "status", "compliant")
	through.set(false)
	slow.open()
	if err := first.failed(); err == nil || !strings.Contains(err.Error(), "leader election lost") {
		t.Errorf("the first leader ended with %v", err)
	}
	w.comply(id, "hub1", "b", "compliant")
	history.truth()
	history.check()
}

// freeLock is what becomes of the lock of a leader that is away for long enough.
func (w *world) freeLock() error {
	lock := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: ownNamespace, Name: "hub-of-hubs-status-sync-lock"}
	if err := w.client.Get(w.Context(), key, lock); err != nil {
		return err
	}
	if ptr.Deref(lock.Spec.HolderIdentity, "") == "" {
		return fmt.Errorf("the lock %s has no holder", key)
	}
	lock.Spec.HolderIdentity = ptr.To("")
	lock.Spec.LeaseDurationSeconds = ptr.To(int32(1))
	return w.client.Update(w.Context(), lock)
}
