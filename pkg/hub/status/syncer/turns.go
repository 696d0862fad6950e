package syncer

import (
	"sync"
	"time"

	"open-cluster-management.io/helloworld-addon/pkg/hub/status"
)

// turns remember which keys' rows changed and when, for the lag, and which were
// expensive, so that a flood of changes of one of them is taken together.
type turns struct {
	mu        sync.Mutex
	since     map[status.Key]time.Time
	due       map[status.Key]bool
	notBefore map[status.Key]time.Time
	budget    map[status.Key]int
}

func newTurns() *turns {
	return &turns{
		since:     map[status.Key]time.Time{},
		due:       map[status.Key]bool{},
		notBefore: map[status.Key]time.Time{},
		budget:    map[status.Key]int{},
	}
}

// changed notes that a key's rows have to be read, and since when they have
// changed, which is zero if nobody knows that they have. It returns how long to
// wait before the key's next turn.
func (t *turns) changed(key status.Key, at, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.due[key] = true
	if first, found := t.since[key]; !at.IsZero() && (!found || at.Before(first)) {
		t.since[key] = at
	}
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
	delete(t.since, key)
	delete(t.due, key)
	return since, due
}

// end notes how long the turn took. After an error its rows
// have to be read again.
func (t *turns) end(key status.Key, now time.Time, took time.Duration, since time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if wait := pace(took); wait > 0 {
		t.notBefore[key] = now.Add(wait)
	}
	if err == nil {
		return
	}
	t.due[key] = true
	if since.IsZero() {
		return
	}
	if later, found := t.since[key]; !found || since.Before(later) {
		t.since[key] = since
	}
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
