package mirror

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"open-cluster-management.io/helloworld-addon/internal/testing/configmaps"
	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror/plan"
)

var eight = []string{"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"}

// holding returns a world that holds removals, and has copies of eight sources
// (docs/design.md#rule-10-removals).
func holding(t *testing.T) (w *world, stop func()) {
	t.Helper()
	w = newWorld(t)
	w.hold = 10 * time.Minute
	for _, name := range eight {
		w.source(name, "1")
	}
	stop = w.start()
	w.eventually("copied", func() bool { return w.present() == len(eight) })
	return w, stop
}

// present counts how many of the eight copies are there.
func (w *world) present() int {
	count := 0
	for _, name := range eight {
		if w.value(name) == "1" {
			count++
		}
	}
	return count
}

func (w *world) remove(names ...string) {
	for _, name := range names {
		w.hub.Remove("configmaps", w.scope.HubNamespace, name)
	}
}

func (w *world) eventuallyHeld(names ...string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%d held", len(names)), func() bool { return len(w.controller.Summary().Held) == len(names) })
	if diff := cmp.Diff(names, w.controller.Summary().Held); diff != "" {
		w.t.Errorf("held (-want +got):\n%s", diff)
	}
}

// relist removes sources while the mirror's watch is broken, so that the next list
// lacks them and no watch event reports them, as on a hub whose storage was restored.
func (w *world) relist(removed ...string) {
	var down atomic.Bool
	down.Store(true)
	w.hub.Before = func(fakeapi.Request) *apierrors.StatusError {
		if down.Load() {
			return answer(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
		}
		return nil
	}
	w.hub.EndWatches()
	w.eventually("the watch has ended", func() bool { return w.controller.Ready() != nil })
	w.remove(removed...)
	w.hub.Forget()
	down.Store(false)
	w.eventually("read again", func() bool { return w.controller.Ready() == nil })
}

// TestListInSessionIsHeld: the watch expires, and the next list has no ConfigMap. No
// copy is deleted. A source that comes back is in sync; the other copies are deleted
// when a user releases them.
func TestListInSessionIsHeld(t *testing.T) {
	w, _ := holding(t)
	w.relist(eight...)
	w.eventuallyHeld(eight...)
	w.source("other", "1")
	w.eventuallyValue("other", "1")
	if got := w.present(); got != len(eight) {
		t.Fatalf("%d of %d copies are left", got, len(eight))
	}
	w.source("n0", "2")
	w.eventuallyValue("n0", "2")
	w.eventuallyHeld(eight[1:]...)
	w.released.Store(true)
	w.controller.Resync()
	w.eventually("the rest is deleted", func() bool { return w.present() == 0 })
	if w.value("n0")+w.value("other") != "21" {
		t.Error("more was deleted")
	}
	w.eventuallyHeld()
	w.eventually("no held deletion has a latency", func() bool { return w.watcher.unmeasured() >= len(eight)-1 })
}

// TestFirstListIsHeld: the hub was restored while the agent did not run.
func TestFirstListIsHeld(t *testing.T) {
	w, stop := holding(t)
	stop()
	w.remove(eight...)
	w.start()
	w.eventuallyHeld(eight...)
	// Other work goes on, and a deletion that is seen is obeyed.
	w.source("other", "1")
	w.eventuallyValue("other", "1")
	w.remove("other")
	w.eventuallyValue("other", "-")
	if got := w.present(); got != len(eight) {
		t.Errorf("%d of %d copies are left", got, len(eight))
	}
	for _, name := range eight {
		w.source(name, "1")
	}
	w.eventuallyHeld()
	w.settled("marker")
	if got := w.present(); got != len(eight) {
		t.Errorf("%d of %d copies are left after the sources came back", got, len(eight))
	}
}

// TestHoldEnds: a source that is missing for the whole period is deleted on purpose.
func TestHoldEnds(t *testing.T) {
	w, stop := holding(t)
	stop()
	w.remove(eight...)
	w.hold = 2 * time.Second
	w.start()
	w.eventuallyHeld(eight...)
	w.eventually("deleted", func() bool { return w.present() == 0 })
}

// TestFewOfAListAreObeyed: few missing sources are no reason to hold, neither in the
// first list nor in a later one.
func TestFewOfAListAreObeyed(t *testing.T) {
	w, stop := holding(t)
	w.relist(eight[:4]...)
	w.eventually("half is deleted", func() bool { return w.present() == 4 })
	stop()
	w.remove(eight[4:6]...)
	w.start()
	w.eventually("two of four are deleted", func() bool { return w.present() == 2 })
}

// TestEventsAreObeyed: a person deletes everything while the agent watches.
func TestEventsAreObeyed(t *testing.T) {
	w, _ := holding(t)
	began := time.Now()
	w.remove(eight...)
	w.eventually("all are deleted", func() bool { return w.present() == 0 })
	if took := time.Since(began); took > w.hold/10 {
		t.Errorf("it took %s", took)
	}
}

// TestDeletionDuringALook: a deletion that is recorded while a worker looks at the name is obeyed,
// whatever the worker has read before.
func TestDeletionDuringALook(t *testing.T) {
	c := New(Config{Scope: scope, Clock: clocktesting.NewFakeClock(start), Observer: &watcher{}, DeletionHold: time.Minute})
	t.Cleanup(c.queue.ShutDown)
	recorded := make(chan struct{})
	c.begin("a", func() (*plan.Source, *plan.Copy) {
		source := plan.NewSource(configmaps.New("a", nil))
		go func() {
			c.locked(func() { c.book.Deleted("a") })
			close(recorded)
		}()
		select {
		case <-recorded:
			t.Error("the deletion is recorded while the worker looks")
		case <-time.After(50 * time.Millisecond):
		}
		return source, nil
	})
	<-recorded
}

// TestHeldNameHasNoFailure: a write that failed before its source went missing is not
// repeated, so it does not keep the agent unready during the hold.
func TestHeldNameHasNoFailure(t *testing.T) {
	w, _ := holding(t)
	var refuse atomic.Bool
	refuse.Store(true)
	w.managed.Before = func(r fakeapi.Request) *apierrors.StatusError {
		if refuse.Load() && r.Verb == "update" {
			return answer(http.StatusInternalServerError, metav1.StatusReasonInternalError)
		}
		return nil
	}
	w.source("n0", "2")
	w.eventually("failed", func() bool { return len(w.failed()) == 1 })
	w.relist(eight...)
	w.eventuallyHeld(eight...)
	refuse.Store(false)
	w.eventually("no failure", func() bool { return len(w.failed()) == 0 })
	w.controller.mu.Lock()
	defer w.controller.mu.Unlock()
	if w.controller.book.Stuck(time.Now().Add(time.Hour)) != nil {
		t.Error("the agent is not ready during the hold")
	}
}

// gated is a world with eight copies whose sources the hub's list lacks, with a
// hold of ten minutes and a clock that the test steps.
type gated struct {
	*world
	clock *clocktesting.FakeClock
}

func newGated(t *testing.T) *gated {
	t.Helper()
	g := &gated{newWorld(t), clocktesting.NewFakeClock(start)}
	g.world.clock, g.hold = g.clock, 10*time.Minute
	for _, name := range eight {
		g.target(name, "1", owned)
	}
	return g
}

// whileTimePasses waits for a condition, and steps the clock meanwhile.
func (g *gated) whileTimePasses(step time.Duration, what string, condition func() bool) {
	g.t.Helper()
	g.eventually(what, func() bool {
		g.clock.Step(step)
		return condition()
	})
}

func (g *gated) close() {
	err := errors.New("closed")
	g.closed.Store(&err)
}

// open opens the gate, and waits until all deletions are held for a whole period.
func (g *gated) open() {
	g.t.Helper()
	g.closed.Store(nil)
	opened := g.clock.Now()
	g.controller.Resync()
	g.whileTimePasses(10*time.Millisecond, "the deletions are held", func() bool {
		if left := g.present(); left < len(eight) {
			g.t.Fatalf("%d of %d copies are left", left, len(eight))
		}
		held := g.controller.Summary()
		return len(held.Held) == len(eight) && !held.HeldUntil.Before(opened.Add(g.hold))
	})
}

// TestHoldWhileTheGateIsClosed: the time in which the mirror may not write does not
// count as part of the hold.
func TestHoldWhileTheGateIsClosed(t *testing.T) {
	tests := []struct {
		name, reason string
		closes       func(g *gated)
	}{
		{"from the start", "nothing was held before it opens", func(g *gated) {
			g.close()
			g.start()
			g.whileTimePasses(10*time.Millisecond, "each name looked at", func() bool { return int(g.looks.Load()) >= len(eight) })
		}},
		{"during a hold", "the period begins anew", func(g *gated) {
			g.start()
			g.whileTimePasses(10*time.Millisecond, "held", func() bool { return len(g.controller.Summary().Held) == len(eight) })
			g.close()
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := newGated(t)
			test.closes(g)
			if g.controller.Stopped() == nil {
				t.Fatal("the gate is open")
			}
			g.clock.Step(time.Hour)
			g.open()
			g.whileTimePasses(time.Minute, test.reason+", and ends", func() bool { return g.present() == 0 })
		})
	}
}
