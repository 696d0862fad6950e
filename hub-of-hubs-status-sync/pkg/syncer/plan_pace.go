package syncer

import (
	"slices"
	"time"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// maxPace bounds how long an expensive key waits for its next turn.
const maxPace = time.Second

// pace is how long to wait before a key is looked at again that took so long:
// what many changes in a row make of it is then looked at once. A cheap one
// need not wait.
func pace(took time.Duration) time.Duration {
	if took < 50*time.Millisecond {
		return 0
	}
	return min(took, maxPace)
}

// strain is when something was done that has to be done again and again, and how
// long it then has to wait.
type strain struct {
	at    time.Time
	pause time.Duration
}

// again is the strain after it was done once more: the pause is twice the one
// before, from the first to the longest, and the first again when it has been
// quiet for twice the longest.
func (s strain) again(at time.Time, first, longest time.Duration) strain {
	if s.pause == 0 || at.Sub(s.at) > 2*longest {
		return strain{at: at, pause: first}
	}
	return strain{at: at, pause: min(2*s.pause, longest)}
}

// until is when it may be done again.
func (s strain) until() time.Time { return s.at.Add(s.pause) }

// manyHubs is for how many leaf hubs at once it is not asked what each of them
// reports: then everything is looked at.
const manyHubs = 50

// speaksOf reports whether an object has rows of one of the leaf hubs.
func speaksOf(rows status.Object, hubs []string) bool {
	if len(hubs) == 0 {
		return false
	}
	return slices.ContainsFunc(rows.Compliance, func(row status.ComplianceRow) bool { return slices.Contains(hubs, row.LeafHub) }) ||
		slices.ContainsFunc(rows.Payloads, func(row status.PayloadRow) bool { return slices.Contains(hubs, row.LeafHub) })
}
