package syncer

import (
	"slices"
	"testing"
	"time"
)

// TestFeedTurns: the heartbeats are asked for at every interval, and after a
// failure at once, whatever it was that failed; the next turn is due an interval
// after they were.
func TestFeedTurns(t *testing.T) {
	f := newTestFeed(t, &fakeSource{})
	for _, step := range []struct {
		what  string
		after time.Duration
		fails string
		beats bool
		next  time.Duration
	}{
		{what: "at the start", beats: true, next: 5 * time.Second},
		{what: "woken", after: 2 * time.Second, next: 3 * time.Second},
		{what: "at the interval", after: 3 * time.Second, beats: true, next: 5 * time.Second},
		{what: "woken, and the database is away", after: time.Second, fails: "changes"},
		{what: "still away", after: time.Second, fails: "heartbeats", beats: true},
		{what: "back", after: time.Second, beats: true, next: 5 * time.Second},
	} {
		f.clock.Step(step.after)
		f.source.fails = map[string]bool{step.fails: true}
		f.source.questions()
		next, err := f.poll(t.Context())
		if failed := step.fails != ""; (err != nil) != failed {
			t.Errorf("%s: error %v", step.what, err)
		}
		if got := slices.Contains(f.source.questions(), "heartbeats"); got != step.beats {
			t.Errorf("%s: asked for the heartbeats: %t", step.what, got)
		}
		if got := next.Sub(f.clock.Now()); err == nil && got != step.next {
			t.Errorf("%s: the next turn is due in %s, not %s", step.what, got, step.next)
		}
	}
}

// TestFeedTrims: the log is trimmed each minute, and each second while more is left.
// A failure delays no poll.
func TestFeedTrims(t *testing.T) {
	f := newTestFeed(t, &fakeSource{})
	if _, err := f.poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		what    string
		after   time.Duration
		backlog bool
		fails   string
		trims   bool
		next    time.Duration
	}{
		{what: "not yet", after: 50 * time.Second, next: 5 * time.Second},
		{what: "after a minute", after: 10 * time.Second, backlog: true, trims: true, next: time.Second},
		{what: "woken", after: 500 * time.Millisecond, backlog: true, next: 500 * time.Millisecond},
		{what: "more is left", after: 500 * time.Millisecond, trims: true, next: 4 * time.Second},
		{what: "nothing is left", after: time.Second, next: 3 * time.Second},
		{what: "the trim fails", after: time.Minute, fails: "trim", trims: true, next: 5 * time.Second},
		{what: "after the failure", after: time.Second, next: 4 * time.Second},
	} {
		f.clock.Step(step.after)
		f.source.backlog, f.source.fails = step.backlog, map[string]bool{step.fails: true}
		f.source.questions()
		next, err := f.poll(t.Context())
		if err != nil {
			t.Errorf("%s: %v", step.what, err)
		}
		if got := slices.Contains(f.source.questions(), "trim"); got != step.trims {
			t.Errorf("%s: trimmed: %t", step.what, got)
		}
		if got := next.Sub(f.clock.Now()); got != step.next {
			t.Errorf("%s: the next turn is due in %s, not %s", step.what, got, step.next)
		}
	}
}
