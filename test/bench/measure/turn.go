package measure

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// turn lets the subjects work one at a time, in rounds that take less than a second
// where latencies and rates are compared. A disturbance of the machine that lasts
// longer then concerns all subjects, and the ratios between them stay right.
type turn struct {
	// installed counts the subjects that are not ready yet.
	installed *sync.WaitGroup
	ready     sync.Once
	// working is held by the subject whose turn it is. It is first come, first
	// served, so that subjects with the same steps alternate.
	working *semaphore.Weighted
	held    bool
}

// newTurns returns the turns of n subjects.
func newTurns(n int) []*turn {
	installed, working := &sync.WaitGroup{}, semaphore.NewWeighted(1)
	installed.Add(n)
	turns := make([]*turn, n)
	for i := range turns {
		turns[i] = &turn{installed: installed, working: working}
	}
	return turns
}

// begin waits until all subjects are installed or have failed, and takes the turn.
func (t *turn) begin(ctx context.Context) error {
	t.ready.Do(t.installed.Done)
	t.installed.Wait()
	return t.take(ctx)
}

// end leaves the turns to the other subjects, wherever this one is.
func (t *turn) end() {
	t.ready.Do(t.installed.Done)
	t.give()
}

// pass lets each waiting subject have its turn, and returns in the next own turn.
func (t *turn) pass(ctx context.Context) error {
	t.give()
	return t.take(ctx)
}

// take waits for the turn. It returns an error if ctx ends before.
func (t *turn) take(ctx context.Context) error {
	if err := t.working.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	t.held = true
	return nil
}

// give ends the turn, if it is this subject's.
func (t *turn) give() {
	if t.held {
		t.held = false
		t.working.Release(1)
	}
}
