package plan

import (
	"time"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// MinRetry and MaxRetry limit the delay before a key is synced again, after a
// failure and while another writer contests its objects.
const MinRetry, MaxRetry = 100 * time.Millisecond, 30 * time.Second

// Cause is the reason for which a key is synced. Of several causes the greatest
// counts.
type Cause int

const (
	// NoCause: nothing to do.
	NoCause Cause = iota
	// ObjectChanged: another writer changed an object. The rows are read only if the
	// fields of an object are not known at its present resourceVersion.
	ObjectChanged
	// ReadRows: the rows are read in any case, because an object was created or
	// deleted, or the previous sync failed.
	ReadRows
	// Requested: the feed requested the sync, for example because rows changed.
	// A write after it is not contested.
	Requested
)

// Work is a cause, and the time of the oldest change of a row that led to it; zero
// if no row is known to have changed.
type Work struct {
	Cause     Cause
	ChangedAt time.Time
}

func (w Work) and(other Work) Work {
	w.Cause = max(w.Cause, other.Cause)
	if !other.ChangedAt.IsZero() && (w.ChangedAt.IsZero() || other.ChangedAt.Before(w.ChangedAt)) {
		w.ChangedAt = other.ChangedAt
	}
	return w
}

// Progress is what the sync remembers of one key. Pending and Running give the
// key's state:
//
//   - idle (neither is set): Request and Touch lead to queued.
//   - queued (Pending): Begin leads to running.
//   - running (Running): End leads to idle, with an error to queued. Request and
//     Touch lead to requeued.
//   - requeued (both): End leads to queued.
//
// The work queue decides when Begin is called: it holds each key once, and gives a
// key to one worker at a time.
//
// Invariants:
//   - No request is lost: Begin moves Pending to Running, and End with an error
//     moves it back, with the time of the oldest change.
//   - Only Pending and Running depend on requests. The other fields are facts about
//     the key's objects; Forget clears them when the objects are gone.
//   - A key that is idle and has no such facts equals the zero Progress, and needs
//     no memory.
type Progress struct {
	Pending, Running Work

	// NotBefore delays the next sync of a key whose last sync took long, so that
	// one sync covers a flood of changes.
	NotBefore time.Time
	// Contest is the back-off of writes that only undo another writer's changes.
	Contest Backoff
	// Shortened is true while an object of the key has a shortened list.
	Shortened bool

	// budget limits the size of the status in bytes of JSON; zero means
	// status.Budget.
	budget int
}

// Request records that the feed requests a sync because of a change at changedAt,
// zero if no row is known to have changed. It returns how long to wait before it.
func (p *Progress) Request(changedAt, now time.Time) time.Duration {
	p.Pending = p.Pending.and(Work{Cause: Requested, ChangedAt: changedAt})
	return p.Wait(now)
}

// Touch records that another writer changed an object of the key. The cause is
// ObjectChanged or ReadRows. It returns how long to wait before the sync.
func (p *Progress) Touch(cause Cause, now time.Time) time.Duration {
	p.Pending = p.Pending.and(Work{Cause: cause})
	return p.Wait(now)
}

// Wait returns how long the pending sync has to wait: after a sync that took long,
// and, unless the feed requested this one, while the objects are contested. A key
// that was queued during a sync is asked again after it, because only then it is
// known how long that took.
func (p *Progress) Wait(now time.Time) time.Duration {
	wait := max(0, p.NotBefore.Sub(now))
	if p.Pending.Cause < Requested {
		wait = max(wait, p.Contest.Until().Sub(now))
	}
	return wait
}

// Begin returns the work of the sync that begins now.
func (p *Progress) Begin(now time.Time) Work {
	p.Running, p.Pending = p.Pending, Work{}
	if !p.NotBefore.After(now) {
		p.NotBefore = time.Time{}
	}
	return p.Running
}

// Wrote records that the running sync wrote an object. It reports whether another
// writer keeps undoing our writes (contested), and whether that was detected just
// now. A write that the feed requested is never contested.
func (p *Progress) Wrote(now time.Time) (contested, detected bool) {
	if p.Running.Cause == Requested {
		return false, false
	}
	p.Contest = p.Contest.Done(now, MinRetry, MaxRetry)
	return p.Contest.Times > 1, p.Contest.Times == 2
}

// End records that the running sync took so long, and returned err.
func (p *Progress) End(now time.Time, took time.Duration, err error) {
	if wait := Pace(took); wait > 0 {
		p.NotBefore = now.Add(wait)
	}
	if err != nil {
		p.Pending = p.Pending.and(p.Running).and(Work{Cause: ReadRows})
	}
	p.Running = Work{}
}

// Forget clears the facts about the key's objects, which are gone.
func (p *Progress) Forget() { *p = Progress{Pending: p.Pending, Running: p.Running} }

// Budget returns the maximum size of the key's status, in bytes of JSON.
func (p *Progress) Budget() int {
	if p.budget == 0 {
		return status.Budget
	}
	return p.budget
}

// Shrink reduces the budget after the API server rejected the status as too large.
func (p *Progress) Shrink() { p.budget = NextBudget(p.Budget()) }

// ResetBudget makes the next sync try the whole status again: the object's spec may
// be smaller by now.
func (p *Progress) ResetBudget() { p.budget = 0 }

// maxPace limits how long a key waits after a sync that took long.
const maxPace = time.Second

// Pace returns how long a key waits after a sync that took so long: as long again,
// up to a second, and not at all after less than 50 ms.
func Pace(took time.Duration) time.Duration {
	if took < 50*time.Millisecond {
		return 0
	}
	return min(took, maxPace)
}
