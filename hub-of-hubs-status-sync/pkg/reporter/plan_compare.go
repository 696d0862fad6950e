package reporter

import (
	"slices"
	"time"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// formerLeader is how long after its start a reporter cannot be alone: another one
// that was leader before may until then write what it read before. It gives up
// when the lock's 30 s are over at the latest, and a batch that it has begun takes
// a minute at most. Rows have no place for whose they are, so nothing in the database keeps it
// from that.
const formerLeader = 2 * time.Minute

// nextCompare is when to compare everything again after it began and ended: once
// more when no former leader can be left, then at every resync.
func nextCompare(started, began, ended time.Time, resync time.Duration) time.Time {
	next, alone := ended.Add(resync), started.Add(formerLeader)
	if began.Before(alone) && alone.Before(next) {
		return alone
	}
	return next
}

// dueKinds are the kinds to compare: of those that are known as a whole all, or
// those that were not yet compared.
func dueKinds(read, compared map[status.Kind]bool, all bool) map[status.Kind]bool {
	due := map[status.Kind]bool{}
	for kind := range read {
		if all || !compared[kind] {
			due[kind] = true
		}
	}
	return due
}

// uncompared are the kinds of which nothing is known but that the leaf hub may
// serve them, in order.
func uncompared(compared, unserved map[status.Kind]bool) []status.Kind {
	var waiting []status.Kind
	for kind := range kinds {
		if !compared[kind] && !unserved[kind] {
			waiting = append(waiting, kind)
		}
	}
	slices.Sort(waiting)
	return waiting
}

// batchGone is how many policies one batch removes: each has a row for each
// cluster, of which nothing tells the number.
const batchGone = 20

// planGone makes the batches that remove what the database has of some kinds and
// the leaf hub has not.
func planGone(inventory status.Inventory, present map[status.ObjectRef]string, which map[status.Kind]bool) []status.Batch {
	var batches []status.Batch
	if which[status.KindPolicy] {
		ids := map[string]bool{}
		for ref, id := range present {
			if ref.Kind == status.KindPolicy {
				ids[id] = true
			}
		}
		gone := slices.DeleteFunc(slices.Clone(inventory.Policies), func(id string) bool { return ids[id] })
		for some := range slices.Chunk(gone, batchGone) {
			batches = append(batches, status.Batch{CompletePolicies: some})
		}
	}
	gone := slices.DeleteFunc(slices.Clone(inventory.Objects), func(ref status.ObjectRef) bool {
		_, found := present[ref]
		return found || !which[ref.Kind]
	})
	for some := range slices.Chunk(gone, batchObjects) {
		batches = append(batches, status.Batch{Removed: some})
	}
	return batches
}
