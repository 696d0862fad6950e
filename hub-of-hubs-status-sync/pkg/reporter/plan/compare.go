package plan

import (
	"slices"
	"time"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// FormerLeader is the time after a reporter's start during which a former leader
// may still write what it read before: at most 30 s until it loses its Lease, and a
// minute for a batch that it has begun. The tables have no column that could reject
// its rows.
const FormerLeader = 2 * time.Minute

// NextCompare returns when everything is compared with the database again, after a
// comparison from began to ended: once when no former leader can be left, and then
// every resync.
func NextCompare(started, began, ended time.Time, resync time.Duration) time.Time {
	next, alone := ended.Add(resync), started.Add(FormerLeader)
	if began.Before(alone) && alone.Before(next) {
		return alone
	}
	return next
}

// DueKinds returns the kinds to compare: of the synced kinds all, or those that
// have not been compared yet.
func DueKinds(synced, compared map[status.Kind]bool, all bool) map[status.Kind]bool {
	due := map[status.Kind]bool{}
	for kind := range synced {
		if all || !compared[kind] {
			due[kind] = true
		}
	}
	return due
}

// Uncompared returns the kinds that were not compared yet, and that the leaf hub
// may serve, sorted.
func Uncompared(compared, unserved map[status.Kind]bool) []status.Kind {
	var waiting []status.Kind
	for kind := range Kinds {
		if !compared[kind] && !unserved[kind] {
			waiting = append(waiting, kind)
		}
	}
	slices.Sort(waiting)
	return waiting
}

// maxGonePolicies limits how many policies one batch removes: each has a row for
// each cluster, and their number is not known here.
const maxGonePolicies = 20

// Gone returns the batches that remove what the database has of some kinds and the
// leaf hub does not have.
func Gone(inventory status.Inventory, present map[status.ObjectRef]string, which map[status.Kind]bool) []status.Batch {
	var batches []status.Batch
	if which[status.KindPolicy] {
		ids := map[string]bool{}
		for ref, id := range present {
			if ref.Kind == status.KindPolicy {
				ids[id] = true
			}
		}
		gone := slices.DeleteFunc(slices.Clone(inventory.Policies), func(id string) bool { return ids[id] })
		for some := range slices.Chunk(gone, maxGonePolicies) {
			batches = append(batches, status.Batch{CompletePolicies: some})
		}
	}
	gone := slices.DeleteFunc(slices.Clone(inventory.Objects), func(ref status.ObjectRef) bool {
		_, found := present[ref]
		return found || !which[ref.Kind]
	})
	for some := range slices.Chunk(gone, MaxObjects) {
		batches = append(batches, status.Batch{Removed: some})
	}
	return batches
}
