package plan

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

var errAway = errors.New("away")

// TestProgress: a sync that took long delays the next one, a fast one does not, and
// after an error the work is pending again since the oldest change.
func TestProgress(t *testing.T) {
	start := time.Unix(1000, 0)
	var p Progress
	if wait := p.Request(start, start); wait != 0 {
		t.Errorf("the first request waits %s", wait)
	}
	p.Request(start.Add(-time.Second), start)
	work := p.Begin(start)
	if want := (Work{Requested, start.Add(-time.Second)}); work != want {
		t.Errorf("the work is %v, want the oldest change: %v", work, want)
	}
	p.End(start, 300*time.Millisecond, errAway)
	if again := p.Begin(start); again != work {
		t.Errorf("after an error the work is %v, want %v", again, work)
	}
	p.End(start, 300*time.Millisecond, nil)
	if wait := p.Request(start, start.Add(100*time.Millisecond)); wait != 200*time.Millisecond {
		t.Errorf("after a sync of 300 ms a request waits %s", wait)
	}
	if wait := p.Request(start, start.Add(time.Second)); wait != 0 {
		t.Errorf("later it waits %s", wait)
	}
	p.Begin(start.Add(time.Second))
	p.Request(start, start.Add(time.Second))
	p.End(start.Add(2*time.Second), time.Second, nil)
	if wait := p.Wait(start.Add(2 * time.Second)); wait != time.Second {
		t.Errorf("what was requested during a sync of 1 s waits %s after it", wait)
	}
	p.Begin(start.Add(3 * time.Second))
	if again := p.Begin(start); again != (Work{}) {
		t.Errorf("finished work is pending: %v", again)
	}
}

// TestProgressStates: the transitions between idle, queued, running and requeued.
func TestProgressStates(t *testing.T) {
	now, changed := time.Unix(1000, 0), time.Unix(900, 0)
	request := func(p *Progress) { p.Request(changed, now) }
	touch := func(p *Progress) { p.Touch(ObjectChanged, now) }
	begin := func(p *Progress) { p.Begin(now) }
	end := func(p *Progress) { p.End(now, 0, nil) }
	fail := func(p *Progress) { p.End(now, 0, errAway) }
	endSlowly := func(p *Progress) { p.End(now, maxPace, nil) }
	beginLater := func(p *Progress) { p.Begin(now.Add(maxPace)) }
	for name, c := range map[string]struct {
		steps []func(*Progress)
		want  Progress
	}{
		"idle after a sync":                   {[]func(*Progress){request, begin, end}, Progress{}},
		"queued":                              {[]func(*Progress){touch}, Progress{Pending: Work{Cause: ObjectChanged}}},
		"the greatest cause counts":           {[]func(*Progress){request, touch}, Progress{Pending: Work{Requested, changed}}},
		"running":                             {[]func(*Progress){touch, begin}, Progress{Running: Work{Cause: ObjectChanged}}},
		"requeued":                            {[]func(*Progress){touch, begin, request}, Progress{Running: Work{Cause: ObjectChanged}, Pending: Work{Requested, changed}}},
		"queued by what came during the sync": {[]func(*Progress){touch, begin, request, end}, Progress{Pending: Work{Requested, changed}}},
		"queued after an error, with its request":   {[]func(*Progress){request, begin, touch, fail}, Progress{Pending: Work{Requested, changed}}},
		"after an error the rows are read":          {[]func(*Progress){touch, begin, fail}, Progress{Pending: Work{Cause: ReadRows}}},
		"idle: a delay that has passed is not kept": {[]func(*Progress){request, begin, endSlowly, request, beginLater, end}, Progress{}},
		"forgotten while it runs: nothing is left":  {[]func(*Progress){request, begin, (*Progress).Shrink, (*Progress).Forget, end}, Progress{}},
		"forgotten: what is pending is not dropped": {[]func(*Progress){request, (*Progress).Shrink, (*Progress).Forget}, Progress{Pending: Work{Requested, changed}}},
	} {
		t.Run(name, func(t *testing.T) {
			var p Progress
			for _, step := range c.steps {
				step(&p)
			}
			if p != c.want {
				t.Errorf("the progress is %+v, want %+v", p, c.want)
			}
		})
	}
}

// TestBudgetShrinks: to a size that fits beside any spec, and not to zero.
func TestBudgetShrinks(t *testing.T) {
	var p Progress
	if got := p.Budget(); got != status.Budget {
		t.Errorf("the first budget is %d", got)
	}
	for range 30 {
		p.Shrink()
	}
	if got := p.Budget(); got != minBudget {
		t.Errorf("budget %d", got)
	}
	if p.ResetBudget(); p.Budget() != status.Budget {
		t.Errorf("after the reset the budget is %d", p.Budget())
	}
}

// TestContested: if another writer keeps undoing the writes, they are delayed more
// and more. Writes that the feed requested are neither delayed nor contested.
func TestContested(t *testing.T) {
	now := time.Unix(1000, 0)
	var p Progress
	sync := func(another bool) (contested, detected bool) {
		if another {
			now = now.Add(p.Touch(ObjectChanged, now))
		} else if wait := p.Request(now, now); wait > 0 {
			t.Errorf("a request waits %s", wait)
		}
		p.Begin(now)
		contested, detected = p.Wrote(now)
		p.End(now, 0, nil)
		return contested, detected
	}
	for range 3 {
		if contested, _ := sync(false); contested {
			t.Error("a write that the feed requested is contested")
		}
	}
	var waits []time.Duration
	var times int
	for i := range 12 {
		before := now
		contested, detected := sync(true)
		waits = append(waits, now.Sub(before))
		if contested != (i > 0) {
			t.Errorf("write %d: contested %v", i, contested)
		}
		if detected {
			times++
		}
		sync(false)
	}
	const ms = time.Millisecond
	want := []time.Duration{0, 100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 6400 * ms, 12800 * ms, 25600 * ms, 30000 * ms, 30000 * ms}
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Errorf("the writes wait (-want +got):\n%s", diff)
	}
	if times != 1 {
		t.Errorf("it is detected %d times", times)
	}
	now = now.Add(time.Hour)
	if contested, _ := sync(true); contested {
		t.Error("one change after a quiet time is contested")
	}
}

// TestContestedByRows: the retry of a failed sync that the feed requested is not
// contested.
func TestContestedByRows(t *testing.T) {
	now := time.Unix(1000, 0)
	var p Progress
	p.Request(time.Time{}, now)
	for range 5 {
		p.Begin(now)
		p.End(now, 0, errAway)
		p.Begin(now)
		if contested, _ := p.Wrote(now); contested {
			t.Error("it is contested")
		}
		p.End(now, 0, errAway)
	}
}
