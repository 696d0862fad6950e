package program

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

const (
	// shortestPause is the pause after the first of several failures.
	shortestPause = 250 * time.Millisecond
	// unservedRetry is how often to look for a kind that a hub does not serve,
	// watchRetry how soon to try again when it did not answer.
	unservedRetry, watchRetry = 15 * time.Second, time.Second
)

// Backoff are the pauses after failures in a row: each is twice as long as the
// one before, up to the longest, and up to a fifth longer by chance, so that many
// programs do not come at once.
func Backoff(longest time.Duration) wait.Backoff {
	return wait.Backoff{Duration: shortestPause, Factor: 2, Jitter: 0.2, Steps: 1000, Cap: longest}
}

// Sleep waits for a time, and returns false when ctx ended before.
func Sleep(ctx context.Context, clock clock.Clock, d time.Duration) bool {
	return sleepOrWake(ctx, clock, d, nil)
}

func sleepOrWake(ctx context.Context, clock clock.Clock, d time.Duration, wake <-chan struct{}) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-wake:
		return true
	case <-ctx.Done():
		return false
	}
}

// Loop does something again and again that fails while something else is away.
type Loop struct {
	Clock clock.Clock
	// Wake has the next turn come before its time; after a failure it has not.
	Wake <-chan struct{}
	// Gap is the least time between two turns.
	Gap time.Duration
	// Longest is the longest pause after failures in a row.
	Longest time.Duration
	// Failed is told of every failure; again: the turn before failed, too.
	Failed func(err error, again bool)
	// Recovered is told when a turn is well after one that failed.
	Recovered func()
}

// Run takes turns until ctx ends. A turn returns when the next one is due at the
// latest. What it returns when ctx has ended does not count.
func (l Loop) Run(ctx context.Context, turn func(context.Context) (next time.Time, err error)) {
	failing, backoff := false, Backoff(l.Longest)
	for ctx.Err() == nil {
		next, err := turn(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			l.Failed(err, failing)
			failing = true
			Sleep(ctx, l.Clock, backoff.Step())
			continue
		}
		if failing {
			l.Recovered()
			failing, backoff = false, Backoff(l.Longest)
		}
		if Sleep(ctx, l.Clock, l.Gap) {
			sleepOrWake(ctx, l.Clock, next.Sub(l.Clock.Now()), l.Wake)
		}
	}
}

// UntilWatched calls watch until it does not fail, and returns false when ctx
// ended before. A hub that does not serve the kind yet may do so later. Failed is
// told of the first failure, and of each that is of the other sort than the one
// before.
func UntilWatched(ctx context.Context, clock clock.Clock, watch func(context.Context) error, failed func(err error, served bool)) bool {
	for first, before := true, false; ; first = false {
		err := watch(ctx)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		served, retry := !meta.IsNoMatchError(err), watchRetry
		if !served {
			retry = unservedRetry
		}
		if first || served != before {
			failed(err, served)
		}
		before = served
		if !Sleep(ctx, clock, retry) {
			return false
		}
	}
}
