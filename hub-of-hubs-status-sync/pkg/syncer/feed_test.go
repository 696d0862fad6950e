package syncer

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// testFeed is a feed that has polled once, with the keys that it requested.
type testFeed struct {
	*feed
	t      *testing.T
	source *fakeSource
	clock  *testclock.FakeClock
	added  map[status.Key]time.Time
	rounds int
}

func newTestFeed(t *testing.T, source *fakeSource) *testFeed {
	f := &testFeed{t: t, source: source, clock: testclock.NewFakeClock(time.Unix(10_000, 0))}
	f.feed = newFeed(source, newTestKeys(t, f.clock, status.KindPolicy, status.KindPlacementRule), f.clock, 5*time.Second, time.Hour)
	source.next = status.Changes{Reset: true, Next: "1"}
	f.works(true)
	source.next = status.Changes{Next: "2"}
	return f
}

// works has the feed look, and returns what it then has looked at.
func (f *testFeed) works(onTime bool) map[status.Key]time.Time {
	f.t.Helper()
	added, err := f.tries(onTime)
	if err != nil {
		f.t.Fatal(err)
	}
	return added
}

func (f *testFeed) tries(onTime bool) (map[status.Key]time.Time, error) {
	f.added = map[status.Key]time.Time{}
	if onTime {
		f.clock.Step(5 * time.Second)
	}
	err := f.pollOnce(f.t.Context(), onTime)
	f.trim(f.t.Context())
	for _, queue := range f.keys.queues {
		for queue.Len() > 0 {
			key, _ := queue.Get()
			f.added[key] = queue.begin(key).ChangedAt
			queue.end(key, 0, nil)
			queue.Done(key)
		}
	}
	select {
	case <-f.keys.queues[status.KindPolicy].rounds:
		f.rounds++
	default:
	}
	return f.added, err
}

// newTestKeys returns keys by which a hub is stale after a minute.
func newTestKeys(t *testing.T, clock clock.WithTicker, kinds ...status.Kind) *keys {
	t.Helper()
	k := newKeys(clock, time.Minute, kinds...)
	for _, queue := range k.queues {
		t.Cleanup(queue.ShutDown)
	}
	return k
}

// TestFeedBegins: at first everything is looked at, page by page, and the syncers
// may begin.
func TestFeedBegins(t *testing.T) {
	f := newTestFeed(t, &fakeSource{keys: policyKeys(2*scanPage + 7)})
	if len(f.added) != 2*scanPage+7 {
		t.Errorf("%d keys are looked at", len(f.added))
	}
	select {
	case <-f.keys.ready:
	default:
		t.Error("it is not ready")
	}
	if diff := cmp.Diff([]string{"heartbeats", "changes", "scan", "scan", "scan"}, f.source.questions()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]status.Cursor{""}, f.source.since); diff != "" {
		t.Errorf("since (-want +got):\n%s", diff)
	}
}

// TestFeedChanges: what changed is looked at, since when it changed by this
// machine's clock, and nothing else; between two intervals that is the one
// question.
func TestFeedChanges(t *testing.T) {
	f := newTestFeed(t, &fakeSource{keys: policyKeys(3)})
	f.source.questions()
	f.source.next = status.Changes{Next: "3", Changed: []status.Change{{Key: policyKey("a"), Age: 2 * time.Second}}}
	if diff := cmp.Diff(map[status.Key]time.Time{policyKey("a"): f.clock.Now().Add(-2 * time.Second)}, f.works(false)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"changes"}, f.source.questions()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	f.works(false)
	if diff := cmp.Diff([]status.Cursor{"", "1", "3"}, f.source.since); diff != "" {
		t.Errorf("since (-want +got):\n%s", diff)
	}
}

// TestFeedFails: after a question without an answer the next look begins where
// this one did, if it could not be told what changed.
func TestFeedFails(t *testing.T) {
	for _, c := range []struct {
		name, question string
		reset          bool
	}{
		{"what changed", "changes", false},
		{"everything, after a reset", "scan", true},
		{"the heartbeats", "heartbeats", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newTestFeed(t, &fakeSource{keys: policyKeys(3)})
			f.source.next = status.Changes{Next: "3", Reset: c.reset, Changed: []status.Change{{Key: policyKey("a")}}}
			f.source.fails = map[string]bool{c.question: true}
			first, err := f.tries(true)
			if err == nil {
				t.Fatal("no error")
			}
			f.source.fails = nil
			_, found := first[policyKey("a")]
			last := f.cursor
			if f.works(true); f.source.since[len(f.source.since)-1] != last {
				t.Errorf("asked since %q, not %q", f.source.since[len(f.source.since)-1], last)
			}
			if _, later := f.added[policyKey("a")]; last == "3" && !found || last == "1" && !later {
				t.Errorf("the change is lost: looked at before %v, then %v, since %q", found, later, last)
			}
			if want := map[bool]status.Cursor{true: "3", false: "1"}[c.question == "heartbeats"]; last != want {
				t.Errorf("goes on at %q, not %q", last, want)
			}
		})
	}
}

// TestFeedStale: the keys of a leaf hub are looked at when it becomes stale, when
// it is heard of again, and when the question for them failed before; not
// otherwise.
func TestFeedStale(t *testing.T) {
	f := newTestFeed(t, &fakeSource{ofHub: map[string][]status.Key{"hub1": {policyKey("a")}, "hub2": {policyKey("b")}}})
	beats := func(one, two time.Duration) {
		f.source.beats = heartbeatsOf(map[string]time.Duration{"hub1": one, "hub2": two})
	}
	looked := func(what string, want ...string) {
		t.Helper()
		var got []string
		for key := range f.works(true) {
			got = append(got, key.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	beats(time.Second, time.Second)
	looked("all are well")
	beats(time.Second, time.Hour)
	f.source.fails = map[string]bool{"hub hub2": true}
	if _, err := f.tries(true); err == nil {
		t.Error("no error")
	}
	f.source.fails = nil
	looked("hub2 is stale", "b")
	looked("hub2 is still stale")
	beats(time.Second, 2*time.Hour)
	looked("hub2's heartbeat is another old one", "b")
	beats(time.Second, time.Second)
	looked("hub2 is back", "b")
	f.works(false)
	f.source.questions()
	f.works(false)
	if asked := f.source.questions(); slices.Contains(asked, "heartbeats") {
		t.Errorf("between two intervals it asked %v", asked)
	}
}

// TestFeedScans: without any change everything is looked at once in a period, also
// what is new, and then again.
func TestFeedScans(t *testing.T) {
	f := newTestFeed(t, &fakeSource{keys: policyKeys(100)})
	f.source.keys = policyKeys(103)
	for round := range 3 {
		seen, most := map[status.Key]bool{}, 0
		for range 720 + 36 { // an hour of 5 s, and what three more keys take
			added := f.works(true)
			most = max(most, len(added))
			for key, since := range added {
				seen[key] = true
				if !since.IsZero() {
					t.Fatalf("%v is said to have changed", key)
				}
			}
		}
		if len(seen) != 103 || most > 2 {
			t.Errorf("round %d: %d keys were looked at, up to %d at once", round, len(seen), most)
		}
	}
}

// TestFeedHears: a notification is followed at once, not at the next interval, and
// a broken connection is made again.
func TestFeedHears(t *testing.T) {
	source := &fakeSource{next: status.Changes{Next: "1"}}
	f := newFeed(source, newTestKeys(t, clock.RealClock{}), clock.RealClock{}, time.Hour, time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Start(ctx) }()
	eventually := func(what string, check func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !check(); <-time.After(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal(what)
			}
		}
	}
	looks := func() int {
		source.mu.Lock()
		defer source.mu.Unlock()
		count := 0
		for _, question := range source.asked {
			if question == "changes" {
				count++
			}
		}
		return count
	}
	eventually("it does not listen again", func() bool {
		source.mu.Lock()
		defer source.mu.Unlock()
		return source.listens == 2
	})
	eventually("it has not looked", func() bool { return looks() == 1 })
	source.notify()
	eventually("it does not follow a notification", func() bool { return looks() == 2 })
	for range 100 {
		source.notify()
	}
	eventually("it does not follow the last notification", func() bool { return looks() >= 3 })
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := looks(); got > 6 {
		t.Errorf("a flood of notifications was a flood of %d looks", got)
	}
}
