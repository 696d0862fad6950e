package mirror

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestArrivals(t *testing.T) {
	seen := func(seconds int) arrival {
		return arrival{changed: true, at: start.Add(time.Duration(seconds) * time.Second)}
	}
	delayed := arrival{changed: true}
	tests := []struct {
		name, reason string
		added        []arrival
		want         arrival
	}{
		{"none", "nothing changed on the hub", nil, arrival{}},
		{"two changes", "the first one has waited longest", []arrival{seen(1), seen(2)}, seen(1)},
		{"tried again after a newer change", "the first one has waited longest", []arrival{seen(2), seen(1)}, seen(1)},
		{"put back without a change", "nothing changed on the hub", []arrival{{}}, arrival{}},
		{"delayed", "the change is not forgotten", []arrival{delayed}, delayed},
		{"a change after a delay", "its latency counts", []arrival{delayed, seen(3)}, seen(3)},
		{"a delay after a change", "the change came meanwhile", []arrival{seen(3), delayed}, seen(3)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var list arrivals
			for _, a := range test.added {
				list.add("a", a)
			}
			if diff := cmp.Diff(test.want, list.take("a"), cmp.AllowUnexported(arrival{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
			if again := list.take("a"); again.changed {
				t.Errorf("taken twice: %+v", again)
			}
		})
	}
}

// TestContestedWriteHasNoLatency: the delay of a contested copy's repair is not a
// latency, also where the source has changed meanwhile without other content.
func TestContestedWriteHasNoLatency(t *testing.T) {
	w := newWorld(t)
	now := clocktesting.NewFakeClock(start)
	w.clock = now
	written := func(what string) {
		t.Helper()
		w.eventually(what, func() bool {
			now.Step(10 * time.Millisecond)
			return w.value("a") == "1"
		})
	}
	w.source("a", "1")
	w.start()
	written("copied")
	for range freeRepairs {
		w.target("a", "theirs", owned)
		written("repaired")
	}
	w.target("a", "theirs", owned)
	w.eventually("contested", func() bool { return len(w.controller.Summary().Contested) == 1 })
	w.source("a", "1", label("team", "blue"))
	w.eventually("the change waits", func() bool {
		w.controller.arrivals.mu.Lock()
		defer w.controller.arrivals.mu.Unlock()
		return w.controller.arrivals.byName["a"] == arrival{changed: true}
	})
	before := w.watcher.unmeasured()
	now.Step(contestMax)
	written("repaired after the delay")
	w.eventually("the repair has no latency", func() bool { return w.watcher.unmeasured() == before+1 })
}
