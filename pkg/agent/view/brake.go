package view

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilwait "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

// The waits of a brake: the ones of client-go's own back-off.
const (
	brakeBase = 800 * time.Millisecond
	brakeMax  = 30 * time.Second
	// brakeJitter makes a wait up to twice as long.
	brakeJitter = 1.0
)

// brake slows an informer down to which an API server answers "expired" again
// and again. The informer takes that for a reason to ask for the list at once,
// which is right the first time, and without it asks thousands of times a
// second. Other failures it backs off from by itself.
type brake struct {
	clock clock.Clock

	mu      sync.Mutex
	expired int
}

// hold returns after as long as the result of a request asks for, or when
// running ends.
func (b *brake) hold(running context.Context, err error) {
	wait := b.next(err)
	if wait == 0 {
		return
	}
	// Agents that met the same API server do not come back all at once.
	timer := b.clock.NewTimer(utilwait.Jitter(wait, brakeJitter))
	defer timer.Stop()
	select {
	case <-running.Done():
	case <-timer.C():
	}
}

// next is how long to wait after this result.
func (b *brake) next(err error) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		b.expired = 0
		return 0
	}
	b.expired++
	if b.expired < 2 {
		return 0
	}
	wait := brakeBase
	for range b.expired - 2 {
		if wait >= brakeMax {
			break
		}
		wait *= 2
	}
	return min(wait, brakeMax)
}
