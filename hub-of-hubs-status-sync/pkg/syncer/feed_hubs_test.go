package syncer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// heartbeatsOf are heartbeats of hubs with their ages, of writers that state an
// interval of a second.
func heartbeatsOf(ages map[string]time.Duration) status.Heartbeats {
	beats := status.Heartbeats{Now: time.Unix(5000, 0), Last: map[string]time.Time{}, Interval: map[string]time.Duration{}}
	for hub, age := range ages {
		beats.Interval[hub] = time.Second
		beats.Last[hub] = beats.Now.Add(-age)
	}
	return beats
}

func keysIn(added map[status.Key]time.Time) []string {
	ids := []string{}
	for key := range added {
		ids = append(ids, key.ID)
	}
	slices.Sort(ids)
	return ids
}

// TestFeedDoubted: rows that were read while a leaf hub's heartbeat was just too old,
// between two looks of the feed that saw it well, are read again after the next
// look; so are those that were read when the feed did not know yet that it is back.
func TestFeedDoubted(t *testing.T) {
	well := heartbeatsOf(map[string]time.Duration{"hub1": time.Second, "hub2": time.Second})
	late := heartbeatsOf(map[string]time.Duration{"hub1": time.Second, "hub2": 61 * time.Second})
	of := func(id string, hubs ...string) status.Object {
		rows := status.Object{Key: policyKey(id)}
		for _, hub := range hubs {
			rows.Compliance = append(rows.Compliance, status.ComplianceRow{LeafHub: hub})
		}
		return rows
	}
	rule := status.Object{Key: status.Key{Kind: status.KindPlacementRule, ID: "rule"}, Payloads: []status.PayloadRow{{LeafHub: "hub2"}}}
	f := newTestFeed(t, &fakeSource{beats: well})

	if stale := f.keys.staleBy(of("a", "hub1", "hub2"), late); len(stale) != 1 {
		t.Errorf("by the rows' own heartbeats these are stale: %v", stale)
	}
	f.keys.staleBy(of("other hub", "hub1"), late)
	f.keys.staleBy(of("nothing"), late)
	f.keys.staleBy(of("read when it was well", "hub2"), well)
	f.keys.staleBy(rule, late)
	if added := keysIn(f.works(false)); len(added) != 0 {
		t.Errorf("before the heartbeats were asked for again %v is looked at", added)
	}
	f.source.fails = map[string]bool{"heartbeats": true}
	if added, err := f.tries(true); err == nil || len(added) != 0 {
		t.Errorf("without an answer %v is looked at, error %v", added, err)
	}
	f.source.fails = nil
	if diff := cmp.Diff([]string{"a", "rule"}, keysIn(f.works(true))); diff != "" {
		t.Errorf("after a late heartbeat (-want +got):\n%s", diff)
	}
	if added := keysIn(f.works(true)); len(added) != 0 {
		t.Errorf("once more %v", added)
	}
	f.source.beats = late
	f.works(true)
	f.keys.staleBy(of("b", "hub2"), well)
	if diff := cmp.Diff([]string{"b"}, keysIn(f.works(true))); diff != "" {
		t.Errorf("after an early return (-want +got):\n%s", diff)
	}
}

// slowSource needs a time for each leaf hub's keys.
type slowSource struct {
	*fakeSource
	feed  *testFeed
	takes time.Duration
}

func (s slowSource) KeysOfHub(ctx context.Context, hub string) ([]status.Key, error) {
	s.feed.clock.Step(s.takes)
	if deadline, found := ctx.Deadline(); !found || time.Until(deadline) < requestTimeout/2 {
		s.feed.t.Errorf("the question for %s has not its own time", hub)
	}
	return s.fakeSource.KeysOfHub(ctx, hub)
}

// staleFeed is a feed of n hubs that have just become stale, each with a key of its
// name.
func staleFeed(t *testing.T, n int, takes time.Duration) *testFeed {
	t.Helper()
	source, ages := &fakeSource{ofHub: map[string][]status.Key{}}, map[string]time.Duration{}
	for i := range n {
		hub := fmt.Sprintf("hub%03d", i)
		source.ofHub[hub], ages[hub] = []status.Key{policyKey(hub)}, time.Hour
		source.keys = append(source.keys, policyKey(hub))
	}
	f := newTestFeed(t, source)
	f.store = slowSource{source, f, takes}
	source.questions()
	source.beats = heartbeatsOf(ages)
	return f
}

// TestFeedHubsTakeTurns: what changed does not wait for the leaf hubs that became
// stale, however long it takes to ask what they report, and each is asked for once.
func TestFeedHubsTakeTurns(t *testing.T) {
	f := staleFeed(t, 10, 2*time.Second)
	var all []string
	for range 4 {
		f.source.next.Changed = []status.Change{{Key: policyKey("changed")}}
		added := keysIn(f.works(len(all) == 0))
		if added[0] != "changed" || len(added) > 4 {
			t.Fatalf("one look looks at %v", added)
		}
		all = append(all, added[1:]...)
		f.lastBeat = f.clock.Now()
		if more := f.next().Sub(f.clock.Now()) <= 0; more != (len(all) < 10) {
			t.Errorf("after %d hubs it looks again at once: %v", len(all), more)
		}
	}
	want := []string{}
	for hub := range f.source.ofHub {
		want = append(want, hub)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFeedHubsAfterReset: where everything is looked at, the leaf hubs' keys are among
// it.
func TestFeedHubsAfterReset(t *testing.T) {
	f := staleFeed(t, 10, 2*time.Second)
	f.works(true)
	f.source.questions()
	f.source.next.Reset = true
	if added := f.works(false); len(added) != 10 {
		t.Errorf("%d keys are looked at", len(added))
	}
	if diff := cmp.Diff([]string{"changes", "scan"}, f.source.questions()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// TestFeedHubFails: a leaf hub whose keys are not to be had holds up neither what
// changed nor the other hubs for long, and is asked for less and less often.
func TestFeedHubFails(t *testing.T) {
	f := staleFeed(t, 3, 0)
	f.source.fails = map[string]bool{"hub hub000": true}
	f.source.next.Changed = []status.Change{{Key: policyKey("changed")}}
	seen := map[string]bool{}
	asked, asking := 0, 0
	for range 720 { // an hour of 5 s
		added, err := f.tries(true)
		for _, id := range keysIn(added) {
			seen[id] = true
		}
		if _, found := added[policyKey("changed")]; !found {
			t.Fatal("what changed waits")
		}
		questions := f.source.questions()
		if count := len(slices.DeleteFunc(questions, func(q string) bool { return q != "hub hub000" })); count > 0 {
			asked++
			if err == nil {
				t.Error("no error")
			}
		} else if err != nil {
			t.Error(err)
		}
	}
	if !seen["hub001"] || !seen["hub002"] {
		t.Errorf("looked at %v", seen)
	}
	if asked < 10 || asked > 30 {
		t.Errorf("asked %d times in an hour", asked)
	}
	f.source.fails = nil
	for range 60 {
		added, _ := f.tries(true)
		if _, found := added[policyKey("hub000")]; found {
			asking++
		}
	}
	if asking != 1 {
		t.Errorf("when there is an answer its keys are looked at %d times", asking)
	}
}

// TestFeedScansAllTheSame: the scan goes on while a leaf hub's keys are not to be had.
func TestFeedScansAllTheSame(t *testing.T) {
	f := staleFeed(t, 3, 0)
	f.period = 15 * time.Second // a key at every look
	f.source.fails = map[string]bool{"hub hub000": true}
	if added, err := f.tries(true); err == nil || len(added) != 1 || !slices.Contains(f.source.questions(), "scan") {
		t.Errorf("looked at %v, error %v", added, err)
	}
}

// TestFeedManyHubs: for more hubs than are worth a question each everything is
// looked at, once.
func TestFeedManyHubs(t *testing.T) {
	for _, c := range []struct {
		hubs, scans, questions int
	}{{maxHubs, 0, maxHubs}, {maxHubs + 1, 1, 0}} {
		t.Run(fmt.Sprint(c.hubs), func(t *testing.T) {
			f := staleFeed(t, c.hubs, 0)
			f.period = 100_000 * time.Hour // no spread scan
			f.clock.Step(time.Hour)
			seen := map[string]bool{}
			for range 5 {
				for _, id := range keysIn(f.works(true)) {
					seen[id] = true
				}
				f.lastBeat = f.clock.Now()
				if waits := f.next().After(f.lastBeat); waits != (len(seen) > 0) {
					t.Errorf("with %d keys looked at it waits: %v", len(seen), waits)
				}
			}
			scans, questions := 0, 0
			for _, question := range f.source.questions() {
				if question == "scan" {
					scans++
				}
				if strings.HasPrefix(question, "hub ") {
					questions++
				}
			}
			if len(seen) != c.hubs || scans != c.scans || questions != c.questions {
				t.Errorf("%d keys, %d scans, %d questions for a hub's keys", len(seen), scans, questions)
			}
		})
	}
}

// TestFeedResets: where the database says at every look that it cannot tell what
// changed, all is looked at, and then again after growing pauses; after a
// quiet time at once again.
func TestFeedResets(t *testing.T) {
	f := newTestFeed(t, &fakeSource{keys: policyKeys(3)})
	f.period = 100_000 * time.Hour
	f.source.next = status.Changes{Next: "3", Reset: true, Changed: []status.Change{{Key: policyKey("changed")}}}
	var sweeps []time.Duration
	start := f.clock.Now()
	for f.clock.Since(start) < time.Hour {
		f.clock.Step(pollGap)
		added := f.works(false)
		if _, found := added[policyKey("changed")]; !found {
			t.Fatal("what changed waits")
		}
		if len(added) > 1 {
			sweeps = append(sweeps, f.clock.Since(start))
		}
	}
	want := []time.Duration{5 * time.Second, 15 * time.Second, 35 * time.Second, 75 * time.Second}
	if diff := cmp.Diff(want, sweeps[:4]); diff != "" {
		t.Errorf("the first sweeps (-want +got):\n%s", diff)
	}
	if len(sweeps) < 12 || len(sweeps) > 20 {
		t.Errorf("%d sweeps in an hour", len(sweeps))
	}
	f.source.next.Reset = false
	f.clock.Step(maxSweepDelay)
	if added := f.works(false); len(added) != 4 {
		t.Errorf("the last reset is forgotten: %v", added)
	}
	f.clock.Step(time.Hour)
	for _, want := range []int{1, 4, 1} {
		f.source.next.Reset = want == 4
		if added := f.works(false); len(added) != want {
			t.Errorf("after a quiet time %v", added)
		}
	}
}

// TestFeedRounds: a round ends when everything was looked at once, at once or spread.
func TestFeedRounds(t *testing.T) {
	f := newTestFeed(t, &fakeSource{keys: policyKeys(100)})
	f.rounds = 0
	for range 720 + 720/2 { // an hour and a half of 5 s
		f.works(true)
	}
	if f.rounds != 1 {
		t.Errorf("%d rounds in an hour and a half", f.rounds)
	}
	f.source.next.Reset = true
	if f.works(false); f.rounds != 2 {
		t.Errorf("%d rounds after a reset", f.rounds)
	}
}
