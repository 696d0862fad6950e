package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

func TestStaleHubs(t *testing.T) {
	now := time.Unix(1000, 0)
	heartbeats := status.Heartbeats{Now: now, Last: map[string]time.Time{
		"fresh": now.Add(-time.Second), "edge": now.Add(-time.Minute), "old": now.Add(-time.Minute - 1), "ahead": now.Add(time.Hour)}}
	got := StaleHubs(heartbeats, time.Minute)
	if diff := cmp.Diff(map[string]time.Time{"old": now.Add(-time.Minute - 1)}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, c := range map[string]struct {
		started time.Time
		want    int
	}{
		"the database has just started: no hub had time to send a heartbeat": {now.Add(-time.Minute), 0},
		"the hubs had time to send a heartbeat since its start":              {now.Add(-time.Minute - 1), 1},
		"its start is not known": {time.Time{}, 1},
	} {
		heartbeats.Started = c.started
		if got := StaleHubs(heartbeats, time.Minute); len(got) != c.want {
			t.Errorf("%s: stale are %v, want %d", name, got, c.want)
		}
	}
	if diff := cmp.Diff([]string{"came", "moved", "went"}, ChangedHubs(
		map[string]time.Time{"went": now, "moved": now, "same": now},
		map[string]time.Time{"came": now, "moved": now.Add(1), "same": now})); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
}

// TestScanShare: a period covers every key once, however few there are.
func TestScanShare(t *testing.T) {
	for _, total := range []int{0, 1, 7, 100, 100_000} {
		sum, carry := 0, 0.0
		var share int
		for range 720 { // an hour of 5 s
			share, carry = ScanShare(total, 5*time.Second, time.Hour, carry)
			sum += share
		}
		if sum < total-1 || sum > total {
			t.Errorf("of %d keys %d are scanned in a period", total, sum)
		}
	}
}

// TestBackoff: the delay doubles from the base to the limit, and begins again after
// a quiet time of more than twice the limit.
func TestBackoff(t *testing.T) {
	now := time.Unix(1000, 0)
	var backoff Backoff
	if backoff.Until().After(now) {
		t.Error("the zero back-off delays the action")
	}
	for _, step := range []struct {
		after, delay time.Duration
		times        int
	}{
		{0, time.Second, 1},
		{time.Second, 2 * time.Second, 2},
		{2 * time.Second, 4 * time.Second, 3},
		{20 * time.Second, 8 * time.Second, 4},
		{8 * time.Second, 10 * time.Second, 5},
		{20*time.Second + 1, time.Second, 1},
	} {
		now = now.Add(step.after)
		backoff = backoff.Done(now, time.Second, 10*time.Second)
		if want := (Backoff{Last: now, Times: step.times, Delay: step.delay}); backoff != want {
			t.Errorf("the back-off is %+v, want %+v", backoff, want)
		}
	}
}
