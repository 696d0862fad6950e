package plan

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/internal/retry"
	"open-cluster-management.io/helloworld-addon/manifests"
)

const (
	// A name that fails is tried again after retryBase, then after twice that time,
	// and so on up to retryMax.
	retryBase = 20 * time.Millisecond
	retryMax  = 30 * time.Second
	// retriedBySuccess is how many failing names are tried at once for each one that
	// works again. With two, names that failed together recover together. Each extra
	// request follows a success, so this cannot become a hot loop.
	retriedBySuccess = 2
)

// The hold of many removals (docs/design.md#rule-10-removals). A hub that was
// restored from a backup may answer with a list that lacks ConfigMaps which no user
// deleted.
const (
	// heldAbove is how many copies a list may remove without a hold, whatever their
	// share: with few copies, deleting most of them is ordinary work.
	heldAbove = 3
	// listSettles is how long a source has to be missing before the mirror counts
	// how many are. client-go takes a long list into its cache in parts, and it calls
	// the handler of a watch event after the cache has changed, so Deleted may be late.
	listSettles = time.Second
)

// exceeds reports whether so many removals at once are held: more than heldAbove,
// and more than half of the copies.
func exceeds(missing, copies int) bool {
	return missing > heldAbove && 2*missing > copies
}

// Book has the records of all names that are not at rest. Its owner calls Begin
// with each planned action, carries it out, and calls End with the outcome. It must
// not be used by several goroutines at once.
type Book struct {
	scope   Scope
	records map[string]*Record

	// period is how long removals are held; zero means that none is.
	period time.Duration
	// held counts the records in the state held, until is when their hold ends.
	held  int
	until time.Time
	// suspended reports whether writes were forbidden since the last removal was
	// looked at. The hold then begins anew, so that there is time to restore the
	// sources.
	suspended bool
	// failingSince is when the first write failed since the last one that succeeded;
	// zero if none did.
	failingSince time.Time
}

// NewBook returns a Book without records. Period is how long many removals are held;
// zero means that none is.
func NewBook(scope Scope, period time.Duration) *Book {
	return &Book{scope: scope, records: map[string]*Record{}, period: period}
}

// open returns the record of a name, a new one if there is none. The caller has to
// call close if the record may be at rest afterwards.
func (b *Book) open(name string) *Record {
	r := b.records[name]
	if r == nil {
		r = &Record{}
		b.records[name] = r
	}
	return r
}

// close removes the record of a name that is at rest.
func (b *Book) close(name string) {
	if r := b.records[name]; r != nil && *r == (Record{}) {
		delete(b.records, name)
	}
	if len(b.records) == 0 {
		// A map never shrinks: after 5,000 names it would stay that large.
		b.records = map[string]*Record{}
	}
}

// Changed records that the source of a name changed on the hub.
func (b *Book) Changed(name string, now time.Time) {
	r := b.open(name)
	r.arrival = r.arrival.merge(arrival{changed: true, seen: now})
}

// Deleted records a watch event that the source of a name was deleted.
func (b *Book) Deleted(name string) { b.setRemoval(b.open(name), confirmed) }

// Suspend records that the mirror may not write.
func (b *Book) Suspend() { b.suspended = true }

// BackOff records whether a look at a name failed, and returns how long to wait
// before the next one; zero after a look that did not fail.
func (b *Book) BackOff(name string, failed bool) time.Duration {
	if !failed && b.records[name] == nil {
		return 0
	}
	r := b.open(name)
	defer b.close(name)
	if failed {
		r.attempts++
	} else {
		r.attempts = 0
	}
	return retry.Delay(r.attempts, retryBase, retryMax)
}

// Situation is what Begin has to know besides the name.
type Situation struct {
	Now time.Time
	// Released reports whether a user has released held removals.
	Released bool
	// Missing lists the owned copies without a source, and counts all owned copies:
	// see the function Missing.
	Missing func() (names []string, owned int)
}

// Turn is the work on one name, from Begin to End.
type Turn struct {
	// Action is the action to carry out unless Wait is set.
	Action Action
	// Wait is how long the action has to wait. Zero means not at all.
	Wait time.Duration
	// Contested reports whether Wait is the first one of a contest. The caller then has
	// to call Explain.
	Contested bool
	// Hold describes the hold that began with this turn, nil for none.
	Hold *Hold
	// Change is what the wait changed in the list of failures.
	Change Change

	want    wanted
	version string
	arrival arrival
}

// Hold describes a hold of removals.
type Hold struct {
	Removals, Copies int
	Until            time.Time
}

// Begin decides whether an action is carried out now or later (Turn.Wait). Source and
// target are what the action was planned on, nil for none.
func (b *Book) Begin(action Action, source *Source, target *Copy, situation Situation) Turn {
	r := b.open(action.Name)
	defer b.close(action.Name)
	turn := Turn{Action: action, want: wantedOf(source), arrival: r.arrival}
	if target != nil {
		turn.version = target.ResourceVersion
	}
	r.arrival = arrival{}
	if action.Kind == Create && r.lost != nil {
		turn.Action.Object = b.scope.desired(source, r.lost)
	}
	switch {
	case action.Kind == Delete && source == nil:
		turn.Wait, turn.Hold = b.hold(r, situation)
	case source == nil && target == nil && r.lag.showsBefore(""):
		// The cache does not show the copy yet that was written: the deletion of its source stays known
		// until it does.
	default:
		b.setRemoval(r, present)
	}
	switch {
	case turn.Wait > 0:
		// A write that failed before is not tried any more.
		turn.Change = b.report(r, Action{Kind: Ignore}, turn.want, nil, situation.Now)
	case action.Kind.Writes():
		turn.Wait = r.contest.wait(turn.want, situation.Now)
		turn.Contested = turn.Wait > 0 && r.contest.reason == ""
	}
	if turn.Wait > 0 {
		r.arrival = r.arrival.merge(arrival{changed: turn.arrival.changed})
	}
	return turn
}

// Outcome is how a turn ended.
type Outcome struct {
	// Err is the error of the action. It is ErrStale only as long as the name is
	// planned again for it.
	Err error
	// Latency is the time from a change on the hub until it was written. It is zero
	// for other writes, and for those that waited on purpose.
	Latency time.Duration
	// LookAgain is when the name has to be looked at again to end a contest; zero for
	// no contest.
	LookAgain time.Duration
	Change    Change
}

// End records how the action of a turn ended.
func (b *Book) End(turn Turn, err error, now time.Time) Outcome {
	action := turn.Action
	r := b.open(action.Name)
	defer b.close(action.Name)
	var out Outcome
	var raced bool
	r.lag, raced, out.Err = r.lag.after(action.Kind, turn.version, err)
	switch {
	case !action.Kind.Writes():
		r.contest, out.LookAgain = r.contest.rest(turn.want, now)
	case err == nil || raced && r.contest.isRepair(turn.want, turn.arrival.changed):
		r.contest = r.contest.wrote(turn.want, turn.arrival.changed, now)
	}
	r.lost = lostAfter(r.lost, action, err)
	switch {
	case err != nil:
		r.arrival = r.arrival.merge(turn.arrival)
	case action.Kind.Writes() && !turn.arrival.seen.IsZero():
		out.Latency = now.Sub(turn.arrival.seen)
	}
	out.Change = b.report(r, action, turn.want, out.Err, now)
	return out
}

// hold returns how long the removal of a copy has to wait, zero for not at all, and
// the hold that begins with it.
func (b *Book) hold(r *Record, situation Situation) (time.Duration, *Hold) {
	now := situation.Now
	if b.suspended {
		b.suspended = false
		b.until = b.holdEnd(now)
	}
	if b.period == 0 || situation.Released || b.held > 0 && !now.Before(b.until) {
		b.confirmHeld()
		b.setRemoval(r, confirmed)
	}
	b.doubt(r, now)
	var began *Hold
	if r.removal == doubted && now.Sub(r.doubtedSince) >= listSettles {
		missing, owned := situation.Missing()
		began = b.judge(missing, owned, now)
		b.doubt(r, now)
	}
	switch r.removal {
	case confirmed:
		return 0, began
	case held:
		return b.until.Sub(now), began
	default:
		return listSettles - now.Sub(r.doubtedSince), began
	}
}

// doubt begins the removal of a copy whose source a list lacks.
func (b *Book) doubt(r *Record, now time.Time) {
	if r.removal == present {
		b.setRemoval(r, doubted)
		r.doubtedSince = now
	}
}

// judge decides on the removal of all copies without a source: all that are not
// confirmed are held, or none. It returns the hold that begins, nil for none.
func (b *Book) judge(missing []string, owned int, now time.Time) *Hold {
	for _, r := range b.records {
		if r.removal == doubted {
			b.setRemoval(r, present)
		}
	}
	missing = slices.DeleteFunc(slices.Clone(missing), func(name string) bool {
		r := b.records[name]
		return r != nil && r.removal == confirmed
	})
	var began *Hold
	if b.period > 0 && b.held == 0 && exceeds(len(missing), owned) {
		b.until = b.holdEnd(now)
		began = &Hold{Removals: len(missing), Copies: owned, Until: b.until}
	}
	state := confirmed
	if began != nil || b.held > 0 {
		state = held
	}
	for _, name := range missing {
		b.setRemoval(b.open(name), state)
	}
	return began
}

// holdEnd returns when a hold that begins now ends. It is a whole second, as in the
// condition.
func (b *Book) holdEnd(now time.Time) time.Time {
	return now.Add(b.period + time.Second - 1).Truncate(time.Second)
}

func (b *Book) confirmHeld() {
	if b.held == 0 {
		return
	}
	for _, r := range b.records {
		if r.removal == held {
			b.setRemoval(r, confirmed)
		}
	}
}

// setRemoval is the only place that changes a removal.
func (b *Book) setRemoval(r *Record, state removal) {
	if r.removal == held {
		b.held--
	}
	if state == held {
		b.held++
	}
	r.removal, r.doubtedSince = state, time.Time{}
}

// Missing lists the owned copies without a source, and counts all owned copies.
func Missing(copies []*Copy, source func(name string) *Source) (names []string, owned int) {
	for _, target := range copies {
		if !target.Owned || target.Deleting || Excluded(target.Name) {
			continue
		}
		owned++
		if source(target.Name) == nil {
			names = append(names, target.Name)
		}
	}
	return names, owned
}

// Explain records the reason of a contest and returns it as a failure. Manager is the
// field manager of the other writer, empty if it is not known.
func (b *Book) Explain(name, manager string) Failure {
	failure := Failure{Name: name, Kind: Contested, Reason: b.scope.contestReason(name, manager)}
	if r := b.records[name]; r != nil && r.contest != nil {
		r.contest.reason = failure.Reason
	}
	return failure
}

// contestReason explains a contest to a user.
func (s Scope) contestReason(name, manager string) string {
	writer := "another writer"
	if manager != "" {
		writer = fmt.Sprintf("another writer (%s)", manager)
	}
	return fmt.Sprintf("%s keeps changing or deleting %s, which is put back at most once a second, and in the end once a minute: "+
		"stop that writer, or stop the copying: kubectl label configmap %s -n %s %s=%s (on the hub)",
		writer, s.onCluster(name), name, s.HubNamespace, manifests.SyncLabel, manifests.SyncDisabled)
}

// OtherManager returns the field manager, other than the mirror, that wrote an
// object last; empty if there is none.
func OtherManager(fields []metav1.ManagedFieldsEntry) string {
	var last metav1.ManagedFieldsEntry
	for _, entry := range fields {
		if entry.Manager != manifests.ManagedByAgent && (last.Time == nil || entry.Time != nil && last.Time.Before(entry.Time)) {
			last = entry
		}
	}
	return last.Manager
}

// each calls f, sorted by name, with the records that Troubles and Stuck are about. A
// large book has mostly others, of names that are just being written.
func (b *Book) each(f func(name string, r *Record)) {
	var names []string
	for name, r := range b.records {
		if r.failure != nil || r.contest != nil || r.removal == held {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		f(name, b.records[name])
	}
}
