package syncer

import (
	"sync"
	"time"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// turns remember which keys' rows changed and when, for the lag, and which were
// expensive, so that a flood of changes of one of them is taken together. They know
// also whose objects somebody else changes again and again.
type turns struct {
	mu        sync.Mutex
	since     map[status.Key]time.Time
	due       map[status.Key]bool
	notBefore map[status.Key]time.Time
	budget    map[status.Key]int
	// asked are the keys that the feed wants to be looked at; atWork: those that a
	// turn is at work on for it. Other turns are for what somebody did to objects.
	asked, atWork map[status.Key]bool
	contested     map[status.Key]strain
	// shortened are the keys with an object whose list is not whole.
	shortened map[status.Key]bool
}

func newTurns() *turns {
	return &turns{
		since:     map[status.Key]time.Time{},
		due:       map[status.Key]bool{},
		notBefore: map[status.Key]time.Time{},
		budget:    map[status.Key]int{},
		asked:     map[status.Key]bool{},
		atWork:    map[status.Key]bool{},
		contested: map[status.Key]strain{},
		shortened: map[status.Key]bool{},
	}
}

// changed notes that a key's rows have to be read, and since when they have
// changed, which is zero if nobody knows that they have. It returns how long to
// wait before the key's next turn.
func (t *turns) changed(key status.Key, at, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.due[key], t.asked[key] = true, true
	if first, found := t.since[key]; !at.IsZero() && (!found || at.Before(first)) {
		t.since[key] = at
	}
	return t.wait(key, now)
}

// touched notes that somebody did something to a key's objects, and whether its rows
// have to be read for it in any case. It returns how long to wait before the key's
// next turn: longer if somebody does so again and again.
func (t *turns) touched(key status.Key, due bool, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if due {
		t.due[key] = true
	}
	wait := t.wait(key, now)
	if strain, found := t.contested[key]; found {
		wait = max(wait, strain.until().Sub(now))
	}
	return wait
}

// wait is how long an expensive key has to wait. The caller holds the lock.
func (t *turns) wait(key status.Key, now time.Time) time.Duration {
	until, found := t.notBefore[key]
	if !found {
		return 0
	}
	if !until.After(now) {
		delete(t.notBefore, key)
		return 0
	}
	return until.Sub(now)
}

// begin takes the time since which the key's rows have changed; zero: nobody
// knows that they have. Due says that they have to be read in any case.
func (t *turns) begin(key status.Key) (since time.Time, due bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	since, due = t.since[key], t.due[key]
	t.atWork[key] = t.asked[key]
	delete(t.since, key)
	delete(t.due, key)
	delete(t.asked, key)
	return since, due
}

// wrote notes that a turn has written. If that was only to put right what somebody
// else did, and not for the first time of late, others says so, and begins that it
// is the second time.
func (t *turns) wrote(key status.Key, now time.Time) (others, begins bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.atWork[key] {
		return false, false
	}
	next := t.contested[key].again(now, firstRetry, lastRetry)
	t.contested[key] = next
	return next.pause > firstRetry, next.pause == 2*firstRetry
}

// end notes how long the turn took. After an error its rows
// have to be read again.
func (t *turns) end(key status.Key, now time.Time, took time.Duration, since time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if wait := pace(took); wait > 0 {
		t.notBefore[key] = now.Add(wait)
	}
	asked := t.atWork[key]
	delete(t.atWork, key)
	if err == nil {
		return
	}
	t.due[key] = true
	if asked {
		t.asked[key] = true
	}
	if since.IsZero() {
		return
	}
	if later, found := t.since[key]; !found || since.Before(later) {
		t.since[key] = since
	}
}

// forget drops what is known of a key that has no object.
func (t *turns) forget(key status.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.notBefore, key)
	delete(t.budget, key)
	delete(t.contested, key)
	delete(t.shortened, key)
}

// listed notes whether the lists of a key's objects are whole.
func (t *turns) listed(key status.Key, whole bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if whole {
		delete(t.shortened, key)
	} else {
		t.shortened[key] = true
	}
}

// short returns of how many keys a list is shortened.
func (t *turns) short() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.shortened)
}

// newRound has every status be tried again in full: what was in its way may be gone.
func (t *turns) newRound() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.budget)
}

// budgetOf is how large a key's status may be.
func (t *turns) budgetOf(key status.Key) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if budget, found := t.budget[key]; found {
		return budget
	}
	return status.Budget
}

// shrink makes a key's status smaller from now on.
func (t *turns) shrink(key status.Key) {
	budget := nextBudget(t.budgetOf(key))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.budget[key] = budget
}
