package reporter

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	testclock "k8s.io/utils/clock/testing"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/reporter/plan"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// inventory is a database that is only asked what it has.
type inventory struct {
	status.Writer
	asked int
	err   error
}

func (i *inventory) Present(context.Context, string) (status.Inventory, error) {
	i.asked++
	return status.Inventory{}, i.err
}

// read is a kind that is watched, and known as a whole or not.
type read struct {
	toolscache.ResourceEventHandlerRegistration
	synced bool
}

func (r *read) HasSynced() bool { return r.synced }

// TestCompares: a kind is compared when it has become known as a whole, and again
// when it could not be; everything is once a period.
func TestCompares(t *testing.T) {
	clock := testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	store, policies := &inventory{}, &read{}
	r := &reporter{store: store, clock: clock, interval: 200 * time.Millisecond, resync: time.Hour,
		dirty: map[status.ObjectRef]bool{}, policies: plan.Reported{}}
	r.watcher = newWatcher(nil, clock, r.changed)
	r.watcher.hasSynced[status.KindPolicy] = policies.HasSynced
	for _, step := range []struct {
		what   string
		after  time.Duration
		synced bool
		err    error
		asked  int
	}{
		{what: "nothing is known at the start"},
		{what: "nothing has become known", after: time.Minute},
		{what: "policies are known, and the database is away", synced: true, err: errors.New("away"), asked: 1},
		{what: "the database is back", synced: true, asked: 1},
		{what: "they were compared", after: time.Minute, synced: true},
		{what: "a period later", after: time.Hour, synced: true, asked: 1},
	} {
		clock.Step(step.after)
		policies.synced, store.err, store.asked = step.synced, step.err, 0
		next, err := r.turn(t.Context())
		if !errors.Is(err, step.err) {
			t.Errorf("%s: error %v", step.what, err)
		}
		if store.asked != step.asked {
			t.Errorf("%s: compared %d times, not %d", step.what, store.asked, step.asked)
		}
		if err == nil && next.Sub(clock.Now()) != 1200*time.Millisecond {
			t.Errorf("%s: the next turn is due in %s", step.what, next.Sub(clock.Now()))
		}
	}
}

// TestStartWritesOnce: at the start everything is new and everything is compared;
// it is written once all the same.
func TestStartWritesOnce(t *testing.T) {
	l := newLeaf(t)
	for i := range 3 {
		l.has(status.KindManagedCluster, fmt.Sprintf(`{"metadata":{"name":"cluster%d"}}`, i))
	}
	l.database.rows["ManagedCluster /of-before"] = "old"
	l.turns()
	written := 0
	for _, batch := range l.database.batches {
		written += len(batch.Objects)
	}
	if written != 3 || len(l.database.rows) != 3 {
		t.Errorf("%d written, rows %v", written, l.database.rows)
	}
}

// TestNewKindAlone: a kind that has become known is compared by itself.
func TestNewKindAlone(t *testing.T) {
	l := newLeaf(t)
	known := false
	l.watcher.setSynced(status.KindManagedClusterAddOn, func() bool { return known })
	l.has(status.KindManagedCluster, `{"metadata":{"name":"cluster1"}}`)
	l.has(status.KindManagedClusterAddOn, `{"metadata":{"namespace":"cluster1","name":"helloworld","uid":"u"}}`)
	l.turns()
	before := len(l.database.batches)
	known = true
	l.turns()
	for _, batch := range l.database.batches[before:] {
		for _, entry := range batch.Objects {
			if entry.Kind != status.KindManagedClusterAddOn {
				t.Errorf("%s is written again", entry.Kind)
			}
		}
	}
	if len(l.database.batches) != before+1 {
		t.Errorf("%d batches, not one", len(l.database.batches)-before)
	}
}
