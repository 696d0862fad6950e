package syncer

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer/plan"
)

// without makes the source a database without change log.
func (f *testFeed) without(reason string) { f.source.next = status.Changes{Unlogged: reason} }

// sweeps polls n times at the interval and returns in which of these polls all keys were requested.
func (f *testFeed) sweeps(n int) (polls []int) {
	f.t.Helper()
	for i := range n {
		if len(f.works(true)) == len(f.source.keys) {
			polls = append(polls, i)
		}
	}
	return polls
}

// TestRescans: without a change log every key is requested at each interval, and with one only those of which rows changed.
func TestRescans(t *testing.T) {
	f := newTestFeed(t, &fakeSource{keys: policyKeys(scanPage + 7)})
	f.rounds = 0
	f.without("the database is not migrated")
	if diff := cmp.Diff([]int{0, 1, 2, 3}, f.sweeps(4)); diff != "" {
		t.Errorf("sweeps without change log (-want +got):\n%s", diff)
	}
	if f.rounds != 1 {
		t.Errorf("%d rounds in 20 s, want the one of the period: each tries shortened statuses in full", f.rounds)
	}
	if got := testutil.ToFloat64(changeLog.WithLabelValues()); got != 0 {
		t.Errorf("the gauge has %v without change log", got)
	}
	f.clock.Step(trimPeriod)
	f.source.questions()
	if f.trim(t.Context()); len(f.source.questions()) != 0 || !f.nextTrim.After(f.clock.Now()) {
		t.Errorf("a log that does not exist is trimmed, the next time at %v", f.nextTrim)
	}
	if added := f.works(false); len(added) != 0 {
		t.Errorf("a notification between two intervals requested %d keys", len(added))
	}
	f.source.next = status.Changes{Reset: true, Next: "5"}
	if added := f.works(false); len(added) != scanPage+7 {
		t.Errorf("%d keys were requested when the database had a change log, want all", len(added))
	}
	if last := f.source.since[len(f.source.since)-1]; last != "" {
		t.Errorf("the first read of the change log began at %q", last)
	}
	f.source.next = status.Changes{Next: "6"}
	if polls := f.sweeps(4); len(polls) != 0 {
		t.Errorf("with a change log all keys were requested in polls %v", polls)
	}
	if got := testutil.ToFloat64(changeLog.WithLabelValues()); got != 1 {
		t.Errorf("the gauge has %v with a change log", got)
	}
}

// TestRescansWait: the next scan waits until the keys of the last one are synced, and then as long as that took. A key that
// waits after a failure, and one that another writer changes meanwhile, do not delay it.
func TestRescansWait(t *testing.T) {
	source := &fakeSource{keys: policyKeys(2)}
	f := newTestFeed(t, source)
	f.without("the database is not migrated")
	queue := f.keys.queues[status.KindPolicy]
	poll := func() (scanned bool) {
		t.Helper()
		f.clock.Step(5 * time.Second)
		source.questions()
		if err := f.pollOnce(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		for _, question := range source.questions() {
			scanned = scanned || question == "scan"
		}
		return scanned
	}
	sync := func(took time.Duration, err error) {
		key, _ := queue.Get()
		queue.begin(key)
		f.clock.Step(took)
		queue.end(key, took, err)
		queue.Done(key)
	}
	if !poll() {
		t.Fatal("the first poll does not scan")
	}
	sync(3*time.Second, nil)
	if poll() {
		t.Error("scanned while a key of the last scan was queued")
	}
	sync(3*time.Second, errAway)
	// The scan took from 5 s to 16 s, so the next one begins at 27 s or later.
	f.clock.Step(time.Second)
	for _, c := range []struct {
		at    int
		other func()
		want  bool
	}{
		{22, func() { queue.touch(policyKey("000000"), plan.ObjectChanged) }, false},
		{27, func() { f.keys.request(policyKey("000000"), time.Time{}) }, true},
	} {
		for c.other(); queue.Len() > 0; {
			sync(0, nil)
		}
		if scanned := poll(); scanned != c.want {
			t.Errorf("scanned at %d s: %v", c.at, scanned)
		}
	}
}

// TestRescansOncePerPeriod: a kind whose objects other writers change without pause, so that its queue is never empty, does
// not keep the rows from being scanned once per period.
func TestRescansOncePerPeriod(t *testing.T) {
	f := newTestFeed(t, &fakeSource{keys: policyKeys(1)})
	f.without("the database is not migrated")
	f.works(true)
	queue := f.keys.queues[status.KindPolicy]
	queue.touch(policyKey("000000"), plan.ObjectChanged) // still queued, so that the queue is not empty
	scans := func(passed time.Duration) bool {
		t.Helper()
		f.clock.Step(passed)
		f.source.questions()
		if err := f.pollOnce(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		return slices.Contains(f.source.questions(), "scan")
	}
	if scans(f.period - time.Second) {
		t.Error("scanned again within the period while keys are synced")
	}
	if !scans(time.Second) {
		t.Error("not scanned again after the period")
	}
}

// TestRescansStale: without a change log the keys of a leaf hub that becomes stale are not queried, because that query needs
// the migrations. The next scan requests them.
func TestRescansStale(t *testing.T) {
	f := newTestFeed(t, &fakeSource{keys: policyKeys(3)})
	f.without("the database is not migrated")
	poll := func() []string {
		t.Helper()
		f.clock.Step(5 * time.Second)
		f.source.questions()
		if err := f.pollOnce(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		return f.source.questions()
	}
	if diff := cmp.Diff([]string{"heartbeats", "changes", "scan"}, poll()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	f.works(false)
	f.source.beats.Now = time.Unix(5000, 0)
	f.source.beats.Last = map[string]time.Time{"hub1": time.Unix(0, 0)}
	f.keys.request(policyKey("a"), time.Time{}) // still queued, so that no scan is due
	if diff := cmp.Diff([]string{"heartbeats", "changes"}, poll()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if len(f.changedHubs) != 0 {
		t.Errorf("hubs %v wait for a query", f.changedHubs)
	}
}
