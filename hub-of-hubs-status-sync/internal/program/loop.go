package program

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/internal/retry"
)

const (
	// firstRetry is the delay after the first failure in a row.
	firstRetry = 250 * time.Millisecond
	// lastingRetry is the delay before another attempt to watch a kind that the hub
	// does not serve or forbids, watchRetry the delay after any other failed attempt.
	lastingRetry, watchRetry = 15 * time.Second, time.Second
)

// Delay returns the wait after so many consecutive failures: 250 ms after the
// first, twice the previous wait after each further one, and at most limit. Up to
// a fifth is added at random, so that the programs of many leaf hubs do not
// reconnect to the database at the same moment.
func Delay(failures int, limit time.Duration) time.Duration {
	return wait.Jitter(retry.Delay(failures, firstRetry, limit), 0.2)
}

// Loop calls a function periodically, and backs off while it fails.
type Loop struct {
	Clock clock.Clock
	// Wake makes the next turn start early. It does not shorten the back-off
	// after a failure.
	Wake <-chan struct{}
	// Gap is the minimum time between two turns.
	Gap time.Duration
	// Longest limits the back-off.
	Longest time.Duration
	// Failed is called after each failed turn; again is true if the previous turn
	// failed too.
	Failed func(err error, again bool)
	// Recovered is called after the first successful turn that follows a failure.
	Recovered func()
}

// Run calls turn until ctx ends. A turn returns when the next one has to start at
// the latest. The result of a turn during which ctx ended is ignored.
func (l Loop) Run(ctx context.Context, turn func(context.Context) (next time.Time, err error)) {
	for failures := 0; ctx.Err() == nil; {
		next, err := turn(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			l.Failed(err, failures > 0)
			failures++
			retry.Sleep(ctx, l.Clock, Delay(failures, l.Longest))
			continue
		}
		if failures > 0 {
			l.Recovered()
			failures = 0
		}
		if retry.Sleep(ctx, l.Clock, l.Gap) {
			l.sleepOrWake(ctx, next.Sub(l.Clock.Now()))
		}
	}
}

// sleepOrWake waits for d, for Wake, or for the end of ctx.
func (l Loop) sleepOrWake(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := l.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-l.Wake:
	case <-ctx.Done():
	}
}

// Obstacle is the reason for which a kind cannot be watched.
type Obstacle string

const (
	// Unserved: the hub does not serve the kind, for example because its CRD is not installed.
	Unserved Obstacle = "unserved"
	// Forbidden: the program has not the right to watch the kind.
	Forbidden Obstacle = "forbidden"
	// Failed: any other error, for example because the hub does not answer.
	Failed Obstacle = "failed"
)

func obstacleOf(err error) Obstacle {
	switch {
	case meta.IsNoMatchError(err):
		return Unserved
	case apierrors.IsForbidden(err):
		return Forbidden
	default:
		return Failed
	}
}

// UntilWatched calls watch until it succeeds, and reports false if ctx ended
// before. A hub may start to serve the kind later, or grant the right. Failed is
// called for the first failure, and again whenever the obstacle is another one.
func UntilWatched(ctx context.Context, clock clock.Clock, watch func(context.Context) error, failed func(err error, obstacle Obstacle)) bool {
	for before := Obstacle(""); ; {
		err := watch(ctx)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		obstacle, delay := obstacleOf(err), lastingRetry
		if obstacle == Failed {
			delay = watchRetry
		}
		if obstacle != before {
			failed(err, obstacle)
		}
		before = obstacle
		if !retry.Sleep(ctx, clock, delay) {
			return false
		}
	}
}
