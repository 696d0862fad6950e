package syncer

import (
	"maps"
	"slices"
	"time"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// staleHubs are the hubs whose last heartbeat is older than after. A hub that
// never beat is not stale: its writer may be one that knows no heartbeat. While
// the database was away nobody could beat, so every hub has as long as after
// since its start.
func staleHubs(heartbeats status.Heartbeats, after time.Duration) map[string]time.Time {
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

// changedHubs are those that one map has and the other has not, or has with
// another time, sorted.
func changedHubs(before, now map[string]time.Time) []string {
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

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// scanShare is how many of total keys to look at now, that all are looked at
// once in a period; what is left of a whole number is carried to the next time.
func scanShare(total int, elapsed, period time.Duration, carry float64) (int, float64) {
	exact := float64(total)*float64(elapsed)/float64(period) + carry
	exact = min(exact, float64(total))
	share := int(exact)
	return share, exact - float64(share)
}
