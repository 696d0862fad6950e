package syncer

import (
	"context"
	"errors"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/runtest"
)

// broken is a database with which no connection to listen lasts longer than it
// says.
type broken struct {
	source
	lasts func() time.Duration
	clock *clocktesting.FakeClock
}

func (b broken) Listen(context.Context, func()) error {
	b.clock.Step(b.lasts())
	return errors.New("the connection broke")
}

// TestListensAgain: a database that refuses again and again is asked less and
// less often; one that listened for long and broke is asked again soon, however
// often that was before.
func TestListensAgain(t *testing.T) {
	const tick = 10 * time.Millisecond
	lasts := []time.Duration{0, 0, 0, 0, 0, 0, 0, time.Minute, 0}
	want := []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second,
		250 * time.Millisecond}
	ctx, end := context.WithCancel(t.Context())
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	var began, broke []time.Time
	store := broken{clock: clock, lasts: func() time.Duration {
		began = append(began, clock.Now())
		broke = append(broke, clock.Now().Add(lasts[len(began)-1]))
		if len(began) == len(lasts) {
			end()
		}
		return lasts[len(began)-1]
	}}
	runtest.Passing(t, clock, tick, func() { newFeed(store, newTestKeys(t, clock), clock, 5*time.Second, time.Hour).listen(ctx) })
	for i, least := range want {
		if got := began[i+1].Sub(broke[i]); got < least || got > least+least/5+tick {
			t.Errorf("connection %d broke: the next was tried after %s, not from %s to %s", i+1, got, least, least+least/5)
		}
	}
}
