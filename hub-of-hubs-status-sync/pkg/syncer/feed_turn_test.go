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
