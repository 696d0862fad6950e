// Package retry holds what loops of this repository have in common when they
// wait: an exponential back-off, a sleep that ends with the context, and a signal
// that merges notifications. It runs no loop and starts no goroutine: the owner of
// a loop decides what is retried and for how long.
package retry

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// Delay returns the wait after so many consecutive failures: base after the first,
// twice the previous wait after each further one, and at most limit. It returns
// zero for no failure. For example, with a base of 1s and a limit of 60s the
// waits are 1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s.
func Delay(failures int, base, limit time.Duration) time.Duration {
	if failures < 1 {
		return 0
	}
	delay := min(base, limit)
	for range failures - 1 {
		// Compared before it is doubled, so that it cannot overflow.
		if delay > limit/2 {
			return limit
		}
		delay *= 2
	}
	return delay
}

// Sleep waits for d and reports whether it passed before ctx ended. A d of zero
// or less only asks whether ctx has ended.
func Sleep(ctx context.Context, clock clock.Clock, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}

// Signal wakes one goroutine. Notifications that arrive before it looks are
// merged into one, so Notify never blocks.
type Signal chan struct{}

// NewSignal returns a Signal without a pending notification.
func NewSignal() Signal { return make(Signal, 1) }

// Notify makes the next receive from the signal succeed.
func (s Signal) Notify() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// Clear removes a pending notification.
func (s Signal) Clear() {
	select {
	case <-s:
	default:
	}
}
