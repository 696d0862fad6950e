package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// beat is a leaf hub's last heartbeat: its age, and the interval that its writer
// states, zero if none.
type beat struct{ age, every time.Duration }

// day is an age of a hub that has been dead for long.
const day = 24 * time.Hour

func TestStaleHubs(t *testing.T) {
	const after = 5 * time.Minute
	for _, c := range []struct {
		// why is the rule that the row shows.
		why string
		// running is the time since the database's start, zero if unknown.
		running time.Duration
		beats   map[string]beat
		// before are the hubs that were stale by the same heartbeat.
		before, want []string
	}{
		{why: "a stated interval: older than after, not as old", beats: map[string]beat{
			"fresh": {time.Second, 10 * time.Second}, "edge": {after, 10 * time.Second}, "old": {after + 1, 10 * time.Second}}, want: []string{"old"}},
		{why: "three stated intervals, where they are longer than after", beats: map[string]beat{
			"late": {3 * time.Hour, time.Hour}, "old": {3*time.Hour + 1, time.Hour}}, want: []string{"old"}},
		{why: "none stated, for example by the original transport bridge: never", beats: map[string]beat{
			"hourly": {59 * time.Minute, 0}, "dead": {30 * day, 0}}},
		{why: "a heartbeat of the future", beats: map[string]beat{"ahead": {-time.Hour, time.Second}}},
		{why: "an interval of centuries", beats: map[string]beat{"odd": {2 * day, 1<<63 - 1}}},

		{why: "the database was down for an hour: no hub could beat", running: time.Second,
			beats: map[string]beat{"one": {time.Hour, 10 * time.Second}, "two": {time.Hour + 9*time.Second, 10 * time.Second}}},
		{why: "it was down, and one hub alone is known", running: time.Second, beats: map[string]beat{"one": {day, 10 * time.Second}}},
		{why: "dead for days beside one that beat until the database went down", running: time.Second,
			beats: map[string]beat{"alive": {time.Hour, 10 * time.Second}, "dead": {2 * day, 10 * time.Second}}, want: []string{"dead"}},
		{why: "the newest heartbeat may be of a writer that states no interval", running: time.Second,
			beats: map[string]beat{"bridge": {time.Hour, 0}, "dead": {2 * day, 10 * time.Second}}, want: []string{"dead"}},
		{why: "one was faster to beat again: the other has time for three beats", running: 30 * time.Second,
			beats: map[string]beat{"fast": {time.Second, 10 * time.Second}, "slow": {time.Hour, 10 * time.Second}}},
		{why: "and when that has passed it is stale", running: 30*time.Second + 1,
			beats: map[string]beat{"fast": {time.Second, 10 * time.Second}, "slow": {time.Hour, 10 * time.Second}}, want: []string{"slow"}},
		{why: "as long as no hub beats again, none is stale", running: after,
			beats: map[string]beat{"one": {time.Hour, 10 * time.Second}, "two": {time.Hour + 9*time.Second, 10 * time.Second}}},
		{why: "until all had the whole time", running: after + 1,
			beats: map[string]beat{"one": {time.Hour, 10 * time.Second}}, want: []string{"one"}},
		{why: "a heartbeat of the future is no hint that others could beat", running: after,
			beats: map[string]beat{"ahead": {-2 * time.Hour, 10 * time.Second}, "one": {time.Hour, 10 * time.Second}}},
		{why: "a stale hub stays stale until it beats", running: time.Second, before: []string{"dead"},
			beats: map[string]beat{"fast": {0, 10 * time.Second}, "dead": {2 * day, 10 * time.Second}}, want: []string{"dead"}},
		{why: "unless its writer no longer states an interval", before: []string{"hub"}, beats: map[string]beat{"hub": {day, 0}}},
	} {
		heartbeats := status.Heartbeats{Now: time.Unix(1e9, 0), Last: map[string]time.Time{}, Interval: map[string]time.Duration{}}
		if c.running > 0 {
			heartbeats.Started = heartbeats.Now.Add(-c.running)
		}
		for hub, beat := range c.beats {
			heartbeats.Last[hub] = heartbeats.Now.Add(-beat.age)
			if beat.every > 0 {
				heartbeats.Interval[hub] = beat.every
			}
		}
		of := func(hubs []string) map[string]time.Time {
			times := map[string]time.Time{}
			for _, hub := range hubs {
				times[hub] = heartbeats.Last[hub]
			}
			return times
		}
		if diff := cmp.Diff(of(c.want), StaleHubs(heartbeats, after, of(c.before))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.why, diff)
		}
	}
}

func TestChangedHubs(t *testing.T) {
	now := time.Unix(1000, 0)
	if diff := cmp.Diff([]string{"came", "moved", "went"}, ChangedHubs(
		map[string]time.Time{"went": now, "moved": now, "same": now},
		map[string]time.Time{"came": now, "moved": now.Add(1), "same": now})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
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
