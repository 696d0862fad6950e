package report

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"

	"open-cluster-management.io/helloworld-addon/pkg/agent/report/condition"
)

// desk is a Reporter with an add-on on a hub and a state of the mirror.
type desk struct {
	t        *testing.T
	clock    *clocktesting.FakeClock
	reporter *Reporter
	// wait is the rest of a wait that has begun.
	wait time.Duration

	mu     sync.Mutex
	addOn  *condition.AddOn
	state  condition.State
	err    error
	writes []time.Duration
	start  time.Time
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := &desk{t: t, clock: clocktesting.NewFakeClock(start), start: start,
		addOn: &condition.AddOn{ObjectMeta: metav1.ObjectMeta{Name: "helloworld", Namespace: "cluster1"}}}
	d.reporter = New(Config{
		AddOn:   func() *condition.AddOn { d.mu.Lock(); defer d.mu.Unlock(); return d.addOn },
		State:   func() condition.State { d.mu.Lock(); defer d.mu.Unlock(); return d.state },
		Trouble: func() string { d.mu.Lock(); defer d.mu.Unlock(); return d.state.Trouble },
		Patcher: d, Clock: d.clock,
	})
	return d
}

// Patch sets the condition, as the hub and its watch do.
func (d *desk) Patch(_ context.Context, _ string, _ types.PatchType, _ []byte, _ metav1.PatchOptions, _ ...string,
) (*addonv1alpha1.ManagedClusterAddOn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writes = append(d.writes, d.clock.Since(d.start))
	if d.err != nil {
		return nil, d.err
	}
	present := condition.Of(d.state)
	d.addOn = &condition.AddOn{ObjectMeta: d.addOn.ObjectMeta, Condition: &present}
	return &addonv1alpha1.ManagedClusterAddOn{}, nil
}

func (d *desk) set(state condition.State, err error) {
	d.mu.Lock()
	d.state, d.err = state, err
	d.mu.Unlock()
}

// pass does what Run does for a duration of the fake clock: it receives a notification
// or sees a change of the trouble, waits, and steps.
func (d *desk) pass(duration time.Duration) {
	d.t.Helper()
	end := d.clock.Now().Add(duration)
	for d.clock.Now().Before(end) {
		if d.wait == 0 && len(d.reporter.changed) == 0 && d.reporter.config.Trouble() == d.reporter.trouble {
			d.clock.SetTime(end)
			return
		}
		if d.wait == 0 {
			d.wait = d.reporter.settle()
		}
		for d.wait > 0 {
			if d.clock.Now().Add(d.wait).After(end) {
				d.wait -= end.Sub(d.clock.Now())
				d.clock.SetTime(end)
				return
			}
			d.clock.Step(d.wait)
			d.wait = d.reporter.step(d.t.Context())
		}
	}
}

func (d *desk) written() []time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.writes
	d.writes = nil
	return list
}

func TestReporterWritesOnChangeOnly(t *testing.T) {
	d := newDesk(t)
	d.set(condition.State{Listed: true, Wanted: 1, Synced: 1}, nil)
	d.reporter.Notify()
	d.pass(2 * time.Second)
	if got := d.written(); len(got) != 1 || got[0] > 500*time.Millisecond {
		t.Errorf("the first report: written at %v, want once, at once", got)
	}
	for range 20 {
		d.reporter.Notify()
		d.pass(time.Second)
	}
	if got := d.written(); len(got) != 0 {
		t.Errorf("written at %v, though nothing changed", got)
	}
}

func TestReporterIsNotHasty(t *testing.T) {
	d := newDesk(t)
	d.set(condition.State{Listed: true}, nil)
	d.reporter.Notify()
	d.pass(10 * time.Second)
	d.written()
	for i := range 2000 {
		d.set(condition.State{Listed: true, Wanted: 2000, Synced: i}, nil)
		d.reporter.Notify()
		if i%10 == 0 {
			d.pass(50 * time.Millisecond)
		}
	}
	d.set(condition.State{Listed: true, Wanted: 2000, Synced: 2000}, nil)
	d.reporter.Notify()
	d.pass(10 * time.Second)
	// 10 s of changes: Syncing after 1 s, its message 5 s later, and Synced.
	if got := d.written(); len(got) < 2 || len(got) > 5 {
		t.Errorf("written at %v", got)
	}
	if diff := cmp.Diff("2000 of 2000 ConfigMaps synced", d.addOn.Condition.Message); diff != "" {
		t.Error(diff)
	}
}

func TestReporterBacksOff(t *testing.T) {
	d := newDesk(t)
	d.set(condition.State{Listed: true}, errors.New("forbidden"))
	d.reporter.Notify()
	d.pass(10 * time.Minute)
	if got := d.written(); len(got) < 10 || len(got) > 20 {
		t.Errorf("%d tries in 10 minutes: %v", len(got), got)
	}
	d.set(condition.State{Listed: true}, nil)
	d.pass(61 * time.Second)
	if got := d.written(); len(got) != 1 {
		t.Errorf("recovered with %d writes", len(got))
	}
}

func TestReporterNoticesTrouble(t *testing.T) {
	d := newDesk(t)
	d.set(condition.State{Listed: true}, nil)
	d.reporter.Notify()
	d.pass(2 * time.Second)
	d.set(condition.State{Listed: true, Trouble: "read ConfigMaps on the hub: forbidden"}, nil)
	d.pass(10 * time.Second)
	if c := d.addOn.Condition; c.Reason != condition.ReasonFailed {
		t.Errorf("the condition is %s/%s", c.Status, c.Reason)
	}
	d.set(condition.State{Listed: true}, nil)
	d.pass(10 * time.Second)
	if c := d.addOn.Condition; c.Reason != condition.ReasonSynced {
		t.Errorf("the condition is %s/%s", c.Status, c.Reason)
	}
}

func TestNothingIsReportedWithoutAnAddOn(t *testing.T) {
	d := newDesk(t)
	d.mu.Lock()
	d.addOn = nil
	d.mu.Unlock()
	d.reporter.Notify()
	d.pass(10 * time.Second)
	if got := d.written(); len(got) != 0 {
		t.Errorf("written at %v", fmt.Sprint(got))
	}
}

// TestReporterRuns: with real time, Run reports and ends.
func TestReporterRuns(t *testing.T) {
	d := newDesk(t)
	d.reporter.config.Clock = clock.RealClock{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { d.reporter.Run(ctx); close(ended) }()
	d.set(condition.State{Listed: true}, nil)
	d.reporter.Notify()
	deadline := time.Now().Add(10 * time.Second)
	for len(d.written()) == 0 {
		if time.Now().After(deadline) {
			t.Fatal("no report")
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-ended
}
