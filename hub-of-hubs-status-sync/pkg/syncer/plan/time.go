package plan

import (
	"maps"
	"slices"
	"time"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/internal/retry"
)

// StaleHubs returns the hubs whose last heartbeat is older than after, with the
// time of that heartbeat. A hub without any heartbeat is not stale: the original
// writers of the hub of hubs may send none. No hub is stale within after of the
// database's start, because no hub could send a heartbeat while the database was
// down.
func StaleHubs(heartbeats status.Heartbeats, after time.Duration) map[string]time.Time {
	stale := map[string]time.Time{}
	if heartbeats.Now.Sub(heartbeats.Started) <= after {
		return stale
	}
	for hub, last := range heartbeats.Last {
		if heartbeats.Now.Sub(last) > after {
			stale[hub] = last
		}
	}
	return stale
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
