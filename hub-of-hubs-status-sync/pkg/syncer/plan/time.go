package plan

import (
	"maps"
	"slices"
	"time"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/internal/retry"
)

// missedBeats is the number of a leaf hub's intervals without a heartbeat after
// which the hub is stale.
const missedBeats = 3

// maxInterval bounds a stated interval, so that missedBeats of it fit a Duration.
const maxInterval = 365 * 24 * time.Hour

// StaleHubs returns the stale leaf hubs with the time of their last heartbeat. A
// hub is stale when its last heartbeat is older than after, and older than
// missedBeats of the intervals that its writer stated. A hub whose writer stated
// none is never stale: the original writers of the hub of hubs send heartbeats at
// an interval that the database does not know, for example once an hour.
//
// No hub could send a heartbeat while the database was down. So after a start of
// its server the age is not measured at the current time, but
//
//   - until the hub had time for missedBeats heartbeats, at the newest heartbeat of
//     all hubs from before the start, which is about when the database went down;
//   - then, until it had the whole time, at the newest heartbeat of all hubs.
//
// A hub of before, the previous result, stays stale until its next heartbeat.
func StaleHubs(heartbeats status.Heartbeats, after time.Duration, before map[string]time.Time) map[string]time.Time {
	stale := map[string]time.Time{}
	running := heartbeats.Now.Sub(heartbeats.Started)
	newest, down := newestUntil(heartbeats.Last, heartbeats.Now), newestUntil(heartbeats.Last, heartbeats.Started)
	for hub, interval := range heartbeats.Interval {
		last, patience := heartbeats.Last[hub], missedBeats*min(interval, maxInterval)
		limit := max(patience, after)
		measuredAt := heartbeats.Now
		switch {
		case running <= patience:
			measuredAt = down
		case running <= limit:
			measuredAt = newest
		}
		if known, found := before[hub]; measuredAt.Sub(last) > limit || found && known.Equal(last) {
			stale[hub] = last
		}
	}
	return stale
}

// newestUntil returns the newest heartbeat that is not after end.
func newestUntil(last map[string]time.Time, end time.Time) time.Time {
	var newest time.Time
	for _, at := range last {
		if at.After(newest) && !at.After(end) {
			newest = at
		}
	}
	return newest
}

// ChangedHubs returns the hubs that are in one map only, or in both with different
// times, sorted.
func ChangedHubs(before, now map[string]time.Time) []string {
	changed := map[string]bool{}
	for _, pair := range [][2]map[string]time.Time{{before, now}, {now, before}} {
		for hub, at := range pair[0] {
			if other, found := pair[1][hub]; !found || !other.Equal(at) {
				changed[hub] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(changed))
}

// HasRowsOf reports whether the object has rows of one of the hubs.
func HasRowsOf(rows status.Object, hubs []string) bool {
	if len(hubs) == 0 {
		return false
	}
	return slices.ContainsFunc(rows.Compliance, func(row status.ComplianceRow) bool { return slices.Contains(hubs, row.LeafHub) }) ||
		slices.ContainsFunc(rows.Payloads, func(row status.PayloadRow) bool { return slices.Contains(hubs, row.LeafHub) })
}

// ScanShare returns how many of total keys to scan now, so that a period covers
// all of them. Carry is the fraction that the previous call returned: for example,
// with 100 keys, an interval of 5 s and a period of 1 h, one call in 7 or 8 returns
// 1, and the others 0.
func ScanShare(total int, elapsed, period time.Duration, carry float64) (share int, rest float64) {
	exact := float64(total)*float64(elapsed)/float64(period) + carry
	exact = min(exact, float64(total))
	share = int(exact)
	return share, exact - float64(share)
}

// Backoff is the back-off of an action that succeeds but should not have to be
// repeated. The zero value allows the action at once.
type Backoff struct {
	// Last is when the action was last done; Times is how often it was done
	// without a quiet time of twice the limit in between.
	Last  time.Time
	Times int
	// Delay is the minimum time before the next action.
	Delay time.Duration
}

// Done returns the back-off after the action was done at now. The delay begins
// with base and doubles up to limit.
func (b Backoff) Done(now time.Time, base, limit time.Duration) Backoff {
	times := b.Times + 1
	if now.Sub(b.Last) > 2*limit {
		times = 1
	}
	return Backoff{Last: now, Times: times, Delay: retry.Delay(times, base, limit)}
}

// Until returns the time before which the action must not be repeated.
func (b Backoff) Until() time.Time { return b.Last.Add(b.Delay) }
