package plan

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/internal/retry"
)

// Record is the memory of one name between two looks at it. A look is one reconcile
// of the name. A name at rest has no record: its copy is in sync, or there is neither
// source nor copy.
//
// Its parts are independent of each other, and each is absent at rest:
//
//	part     | set when                                    | cleared when
//	---------|---------------------------------------------|--------------------------------------
//	arrival  | the source changed on the hub               | an action on the name begins; it is set
//	         |                                             | again when the action waits or fails
//	removal  | a list or watch event shows no source       | the source is back, or the copy is gone
//	         |                                             | and the cache is not behind its write
//	failure  | a write fails; the action is Conflict, Wait | a later action succeeds
//	attempts | a look at the name fails                    | a look succeeds
//	contest  | a write only repairs the copy               | the copy stays in sync for long enough,
//	         |                                             | or is not wanted any more
//	lag      | a write succeeds, or fails as stale         | a look writes nothing, and the cache is
//	         |                                             | not behind the mirror's own write
//	lost     | a Replace deletes the copy, and its create  | a create succeeds, or none is needed
//	         | fails                                       |
//
// The removal has four states:
//
//	         the list lacks the source           few are missing
//	present ───────────────────────────▶ doubted ───────────────▶ confirmed
//	   │                                    │ many are missing       ▲  ▲
//	   │                                    └───────▶ held ──────────┘  │
//	   │                                      the hold ends, or a user  │
//	   │                                      releases it               │
//	   └────────────────────────────────────────────────────────────────┘
//	               a watch event reports the deletion (from any state)
//
// A copy without a source is deleted in the state confirmed only. Every state returns
// to present when the source is back. The copy of a source that opted out is deleted
// at once.
//
// Invariants, which FuzzBook checks:
//   - Only a name that is not at rest has a record.
//   - doubtedSince is set exactly in the state doubted.
//   - A contest with a reason has repairs enough to make the next repair wait.
//   - lost is set only while a Replace or Create of the name fails.
type Record struct {
	arrival      arrival
	removal      removal
	doubtedSince time.Time
	failure      *Failure
	attempts     int
	contest      *contest
	lag          *lag
	lost         *metav1.ObjectMeta
}

// arrival is a change of the source on the hub that is not written yet. The zero
// value means that there is none.
type arrival struct {
	changed bool
	// seen is when the change was seen. It is zero for a change whose write waits on
	// purpose, because its deletion is held or its copy is contested: such a wait
	// does not count as latency.
	seen time.Time
}

// merge returns the arrival that stands for both changes: the earlier one with a
// time.
func (a arrival) merge(b arrival) arrival {
	if !b.changed || !a.seen.IsZero() && (b.seen.IsZero() || a.seen.Before(b.seen)) {
		return a
	}
	return b
}

// removal is the state of a copy whose source may be missing: see Record.
type removal int

const (
	present removal = iota
	doubted
	held
	confirmed
)

// wanted is the content that a copy has to have. The zero value means no copy.
type wanted struct {
	digest            Digest
	exists, immutable bool
}

func wantedOf(source *Source) wanted {
	if source == nil || source.OptedOut {
		return wanted{}
	}
	return wanted{digest: source.Digest, exists: true, immutable: source.Immutable}
}

// The pace of a contest (docs/design.md#rule-11-contest). A copy is contested when
// another writer undoes each repair of it, for example an operator that injects a
// key into every ConfigMap. Without a pace the two would write as fast as the API
// server allows, hundreds of times a second.
const (
	// freeRepairs are made at once: a person who edits a copy is no contest.
	freeRepairs = 3
	// The next repair waits contestBase since the last write, each further one twice
	// as long, and at most contestMax.
	contestBase = time.Second
	contestMax  = time.Minute
	// minCalm is the shortest time for which a write has to stand to end the contest.
	// It is at least contestMax, so that a writer with a period of its own, for
	// example a controller that resyncs every 30 seconds, also ends at one repair a
	// minute.
	minCalm = time.Minute
)

// contest counts the writes that only repaired a copy. A nil contest means that no
// other writer changed the copy recently.
type contest struct {
	// wanted is the content that the last write had, undone the one that another writer undid last.
	wanted, undone wanted
	// repairs counts the repairs in a row, none of which stood for longer than calm.
	// last is the time of the last write.
	repairs int
	last    time.Time
	// reason is empty until a repair has to wait.
	reason string
}

// delay returns how long the next repair waits after the last write.
func (c *contest) delay() time.Duration {
	return retry.Delay(c.repairs-freeRepairs+1, contestBase, contestMax)
}

// calm returns how long the last write has to stand to end the contest. It is
// longer than the delay, after which the next repair comes.
func (c *contest) calm() time.Duration {
	return max(minCalm, 2*c.delay())
}

// wait returns how long a write has to wait; zero means not at all. Only a repair
// waits: a change of the source is written at once.
func (c *contest) wait(want wanted, now time.Time) time.Duration {
	if c == nil || c.wanted != want {
		return 0
	}
	return max(0, c.delay()-now.Sub(c.last))
}

// isRepair reports whether a write only restores what another writer undid. Without
// a contest, that is a write that does not follow a change of the source.
func (c *contest) isRepair(want wanted, changed bool) bool {
	if c != nil {
		return c.wanted == want
	}
	return !changed
}

// wrote returns the contest after a write. A repair that failed as stale because
// another writer was faster counts as a write.
func (c *contest) wrote(want wanted, changed bool, now time.Time) *contest {
	repair := c.isRepair(want, changed)
	next := contest{wanted: want, undone: want, last: now}
	switch {
	case !repair && (c == nil || !want.exists):
		return nil
	case !repair:
		next.repairs, next.reason, next.undone = c.repairs, c.reason, c.undone
	case c == nil || now.Sub(c.last) >= c.calm():
		next.repairs = 1
	default:
		next.repairs, next.reason = c.repairs+1, c.reason
	}
	return &next
}

// rest returns the contest of a name that needs no write, and how long the copy has
// to stay in sync until the contest ends. A contest that has ended is nil.
func (c *contest) rest(want wanted, now time.Time) (*contest, time.Duration) {
	if c == nil {
		return nil, 0
	}
	if rest := c.calm() - now.Sub(c.last); rest > 0 && c.wanted == want {
		return c, rest
	}
	return nil, 0
}

// staleLimit is how many writes in a row may fail as stale while the cache shows no
// newer object. With the back-off between them that takes about 2.5 seconds. A
// cache that is only behind catches up much sooner.
const staleLimit = 8

// ErrStale marks the error of a write that was planned on an object which had
// changed since. Nothing was written, and an event with the present object is on
// its way.
var ErrStale = errors.New("the cache is behind the API server")

// StaleError is an answer of the API server that is taken for ErrStale. It may be
// something else: an admission plugin can give the same answer for good.
type StaleError struct {
	// Operation is the verb and the object, for example "update ConfigMap settings".
	Operation string
	Cause     error
}

func (e *StaleError) Error() string { return fmt.Sprintf("%s: %v", e.Operation, e.Cause) }

func (e *StaleError) Unwrap() []error { return []error{ErrStale, e.Cause} }

// refusal returns the same answer without ErrStale.
func (e *StaleError) refusal() error { return fmt.Errorf("%s: %w", e.Operation, e.Cause) }

// lag counts the writes in a row that failed as stale, and remembers the successful
// write before them.
type lag struct {
	// version is the resource version that the failed writes were planned on, empty
	// for no object.
	version string
	times   int
	// wrote reports whether the mirror wrote the object before these failures, and
	// replaced is the resource version on which that write was planned. A cache that is
	// behind that write shows replaced. If the write was a Replace (byReplace), it may
	// also show no object, as between the two requests.
	wrote, byReplace bool
	replaced         string
}

// showsBefore reports whether an object of this version is older than the mirror's
// own write.
func (l *lag) showsBefore(version string) bool {
	return l != nil && l.wrote && (version == l.replaced || l.byReplace && version == "")
}

// after returns the lag after an action that was planned on version and ended with
// err. Raced reports whether another writer was faster. It is false if the cache does
// not show the mirror's own write yet: that explains the failure without another
// writer. From staleLimit on, the result is the API server's refusal instead of
// ErrStale.
func (l *lag) after(kind Kind, version string, err error) (next *lag, raced bool, result error) {
	var stale *StaleError
	switch {
	case errors.As(err, &stale):
	case err == nil && kind.Writes():
		return &lag{wrote: true, replaced: version, byReplace: kind == Replace}, false, nil
	case kind == Ignore && l.showsBefore(version):
		return l, false, nil
	default:
		return nil, false, err
	}
	next = &lag{version: version, times: 1}
	if l != nil && l.version == version {
		next.times += l.times
	}
	behind := l.showsBefore(version)
	if behind {
		next.wrote, next.byReplace, next.replaced = true, l.byReplace, l.replaced
	}
	if next.times >= staleLimit {
		return next, false, stale.refusal()
	}
	return next, next.times == 1 && !behind, err
}

// lostAfter returns the metadata of others that only the mirror still has, because
// a Replace deleted the copy and did not create it again. It is in memory only: if
// the agent ends at that moment, the metadata is lost.
func lostAfter(before *metav1.ObjectMeta, action Action, err error) *metav1.ObjectMeta {
	switch {
	case err != nil && action.Kind == Replace:
		return &action.Object.ObjectMeta
	case err != nil && action.Kind == Create:
		return before
	default:
		return nil
	}
}
