package reporter

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// silent checks that there is no heartbeat, and why.
func (l *leaf) silent(why string) {
	l.Helper()
	before := l.database.beaten()
	err := l.beatOnce(l.Context())
	if err == nil || !strings.Contains(err.Error(), why) || l.database.beaten() != before {
		l.Errorf("%d beats, %v; want none, because of %q", l.database.beaten()-before, err, why)
	}
}

// beats checks that there is a heartbeat, which states the interval.
func (l *leaf) beats() {
	l.Helper()
	before := l.database.beaten()
	if err := l.beatOnce(l.Context()); err != nil || l.database.beaten() != before+1 || l.database.stated != l.heartbeat {
		l.Errorf("%d beats, %v, each %s; want one, each %s", l.database.beaten()-before, err, l.database.stated, l.heartbeat)
	}
}

// TestBeatSaysTheTruth: a leaf hub is heard of when what the database has of it is
// what there is, and not before.
func TestBeatSaysTheTruth(t *testing.T) {
	l := newLeaf(t)
	l.database.rows["ManagedCluster /of-before"] = "old"
	known := false
	l.watcher.setSynced(status.KindManagedCluster, func() bool { return known })
	l.silent("ManagedCluster ManagedClusterAddOn Placement")
	l.turns()
	l.silent("not compared with the database yet: [ManagedCluster]")
	l.turns()
	l.silent("[ManagedCluster]")

	known = true
	l.database.refuses = errors.New("away")
	if _, err := l.turn(t.Context()); err == nil {
		t.Error("the turn has no error")
	}
	l.silent("the last report to the database failed")
	l.database.refuses = nil
	l.turns()
	l.beats()
	if len(l.database.rows) != 0 {
		t.Errorf("there are rows of before: %v", l.database.rows)
	}

	l.database.refuses = errors.New("away")
	l.has(status.KindManagedCluster, `{"metadata":{"name":"cluster1"}}`)
	l.beats() // not seen by the store yet
	if _, err := l.turn(t.Context()); err == nil {
		t.Error("the turn has no error")
	}
	l.silent("the last report to the database failed")
	l.database.refuses = nil
	l.turns()
	l.beats()

	<-l.nowRight
	l.turns()
	if len(l.nowRight) != 0 {
		t.Error("a turn that made nothing true has it beat at once")
	}
	l.alive = func(context.Context) error { return errors.New("it is away") }
	l.silent("it is away")
}

// TestBeatWithoutAKind: what the leaf hub does not serve cannot be untrue; what is
// served later is compared first.
func TestBeatWithoutAKind(t *testing.T) {
	l := newLeaf(t)
	delete(l.watcher.hasSynced, status.KindPolicy)
	l.turns()
	l.silent("[Policy]") // the leaf hub has not answered yet
	l.watcher.setSynced(status.KindPolicy, nil)
	l.turns()
	l.beats()
	l.watcher.setSynced(status.KindPolicy, func() bool { return true })
	l.silent("[Policy]")
	l.turns()
	l.beats()
}

// TestBeatComesAtOnce: a leaf hub that is true again need not wait for the next
// interval, and then beats at every one.
func TestBeatComesAtOnce(t *testing.T) {
	l := newLeaf(t)
	ctx, end := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { l.beat(ctx) })
	defer group.Wait()
	defer end()
	until := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !done(); <-time.After(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: not within a minute", what)
			}
		}
	}
	beaten := func(n int) func() bool { return func() bool { return l.database.beaten() == n } }
	l.turns()
	until("at once", beaten(1))
	until("it waits", l.clock.HasWaiters)
	l.clock.Step(10 * time.Second)
	until("at the interval", beaten(2))
	l.database.refuses = errors.New("away")
	l.has(status.KindManagedCluster, `{"metadata":{"name":"cluster1"}}`)
	if _, err := l.turn(t.Context()); err == nil {
		t.Error("the turn has no error")
	}
	l.database.refuses = nil
	l.turns()
	until("at once, after an outage", beaten(3))
}
