package plan

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Failure is a name that is not in sync and needs a person or another attempt: a
// conflict, a copy that is being deleted for long, a write that failed, or a
// contest.
type Failure struct {
	Name string
	// Kind is Conflict, Wait, Contested, or the kind of the write that failed.
	Kind   Kind
	Reason string

	cause cause
	// want is the content that the failure is about.
	want wanted
}

// same reports whether two failures are the same to a user, whatever content they are about.
func (f Failure) same(other Failure) bool {
	f.want = other.want
	return f == other
}

// Contested is the Kind of a Failure whose copy another writer keeps changing back.
// No action has this kind.
const Contested Kind = "Contested"

// cause is what makes a write fail.
type cause int

const (
	// system: the API server, or the connection to it.
	system cause = iota
	// refusal: a missing right, a quota, or an admission plugin. The answer does not
	// distinguish these, so it may be about one object only.
	refusal
	// content: the object itself.
	content
)

func causeOf(err error) cause {
	switch {
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return content
	case apierrors.IsForbidden(err):
		return refusal
	default:
		return system
	}
}

// Change is what an action changed in the list of failures.
type Change struct {
	// Appeared is the failure that is new, or has another reason than before. It is
	// nil for none.
	Appeared *Failure
	// Cleared reports whether the name is not a failure any more.
	Cleared bool
	// Retry are names to try now, because another one works again.
	Retry []string
	// NoneLeft reports whether the last failure was cleared.
	NoneLeft bool
}

// report records whether an action left a failure. want is the content that it wanted.
func (b *Book) report(r *Record, action Action, want wanted, err error, now time.Time) Change {
	if errors.Is(err, ErrStale) {
		return Change{}
	}
	before := r.failure
	r.failure = nil
	if err != nil || action.Kind == Conflict || action.Kind == Wait {
		r.failure = &Failure{Name: action.Name, Kind: action.Kind, Reason: action.Reason, want: want}
		if err != nil {
			r.failure.Reason, r.failure.cause = err.Error(), causeOf(err)
		}
	}
	var change Change
	switch {
	case r.failure != nil && (before == nil || !before.same(*r.failure)):
		change.Appeared = r.failure
	case r.failure == nil && before != nil:
		change = Change{Cleared: true, Retry: b.failing(retriedBySuccess), NoneLeft: b.noFailure()}
	}
	if action.Kind.Writes() || change.Cleared {
		b.wrote(action.Kind.Writes() && err == nil, now)
	}
	return change
}

// wrote records whether a write succeeded. What was before does not count any more
// when one did, or when no failed write is left.
func (b *Book) wrote(succeeded bool, now time.Time) {
	switch {
	case succeeded, len(b.failing(1)) == 0:
		b.failingSince = time.Time{}
	case b.failingSince.IsZero():
		b.failingSince = now
	}
}

// failing returns up to n names whose write failed, in no order.
func (b *Book) failing(n int) []string {
	var names []string
	for name, r := range b.records {
		if len(names) == n {
			break
		}
		if r.failure != nil && r.failure.Kind.Writes() {
			names = append(names, name)
		}
	}
	return names
}

func (b *Book) noFailure() bool {
	for _, r := range b.records {
		if r.failure != nil {
			return false
		}
	}
	return true
}

// stuckAfter is how long every write may fail before Stuck returns an error. It is
// longer than an API server takes to restart.
const stuckAfter = time.Minute

// Stuck returns an error when every write has failed for longer than stuckAfter, for
// a reason that is not in the objects. One ConfigMap that the API server rejects for
// its content, or the only one that it refuses, does not make the add-on
// unavailable: it is in the Summary.
func (b *Book) Stuck(now time.Time) error {
	if b.failingSince.IsZero() || now.Sub(b.failingSince) <= stuckAfter {
		return nil
	}
	count, example := 0, ""
	b.each(func(_ string, r *Record) {
		failure := r.failure
		if failure == nil || !failure.Kind.Writes() || failure.cause == content {
			return
		}
		if failure.cause == system {
			count++
		}
		count++
		if example == "" {
			example = failure.Reason
		}
	})
	// Two that the API server refuses, or one that met an API server out of order.
	if count < 2 {
		return nil
	}
	return fmt.Errorf("no ConfigMap could be written for more than %s: %s", stuckAfter, example)
}

// Summary counts the ConfigMaps on the hub that have to be copied, and lists those
// that are not in sync.
type Summary struct {
	// Wanted counts the sources: neither opted out nor of an excluded name.
	Wanted int
	// Synced counts those whose copy equals the source, as far as is known.
	Synced int
	// Pending counts those that are about to be written.
	Pending int
	// Conflicts are the names, sorted, of objects that the mirror does not own.
	Conflicts []string
	// Failed are the names that could not be written or removed, sorted. They may
	// include copies whose source is gone.
	Failed []Failure
	// Contested are the copies that another writer keeps changing back, sorted by
	// name. They count neither as synced nor as pending.
	Contested []Failure
	// Held are the copies, sorted, whose removal is held until HeldUntil.
	Held      []string
	HeldUntil time.Time
}

// Troubles returns a Summary with the names that are not in sync, and without
// counts.
func (b *Book) Troubles() Summary {
	var summary Summary
	b.each(func(name string, r *Record) {
		switch {
		case r.failure == nil:
		case r.failure.Kind == Conflict:
			summary.Conflicts = append(summary.Conflicts, name)
		default:
			summary.Failed = append(summary.Failed, *r.failure)
		}
		if r.contest != nil && r.contest.reason != "" {
			summary.Contested = append(summary.Contested, Failure{Name: name, Kind: Contested, Reason: r.contest.reason, want: r.contest.undone})
		}
		if r.removal == held {
			summary.Held, summary.HeldUntil = append(summary.Held, name), b.until
		}
	})
	return summary
}

// Count adds the counts of the sources to a Summary of Troubles.
func (s Summary) Count(sources []*Source, target func(name string) *Copy) Summary {
	failed, contested := map[string]bool{}, map[string]bool{}
	for _, name := range s.Conflicts {
		failed[name] = true
	}
	for _, failure := range s.Failed {
		failed[failure.Name] = true
	}
	for _, failure := range s.Contested {
		contested[failure.Name] = true
	}
	for _, source := range sources {
		if source.OptedOut || Excluded(source.Name) {
			continue
		}
		s.Wanted++
		switch kind := Decide(source.Name, source, target(source.Name)); {
		case contested[source.Name]:
		case kind == InSync:
			s.Synced++
		case !failed[source.Name]:
			s.Pending++
		}
	}
	return s
}
