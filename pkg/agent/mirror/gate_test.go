package mirror

import (
	"errors"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

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

// TestHoldWhileTheGateIsClosed: the time in which the mirror may not write anyway
// does not count as time in which the deletions were held.
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
