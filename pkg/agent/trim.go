package agent

import (
	"context"
	"runtime/debug"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

const (
	// trimPeriod is how long nothing may have happened before memory is given
	// back.
	trimPeriod = 10 * time.Second
	// trimPause is how long it is not done again: it costs a collection, some
	// 20 ms with 5,000 ConfigMaps.
	trimPause = time.Minute
)

// trimmer gives memory back to the system when there was work and there is none
// now. Go's runtime keeps about as much again as is in use, in case it is needed;
// an agent that waits for the next change does not need it, and there are many
// clusters.
type trimmer struct {
	clock   clock.WithTicker
	release func()
	worked  atomic.Bool

	// untrimmed says that there was work since the last time.
	untrimmed bool
	last      time.Time
}

func newTrimmer(clock clock.WithTicker) *trimmer {
	return &trimmer{clock: clock, release: debug.FreeOSMemory}
}

// work is called when something happens.
func (t *trimmer) work() { t.worked.Store(true) }

// run trims until ctx ends.
func (t *trimmer) run(ctx context.Context) {
	ticker := t.clock.NewTicker(trimPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		if t.due(t.worked.Swap(false), t.clock.Now()) {
			t.release()
		}
	}
}

// due says whether it is time to trim, given whether there was work in the
// period that ends now.
func (t *trimmer) due(busy bool, now time.Time) bool {
	t.untrimmed = t.untrimmed || busy
	if busy || !t.untrimmed || now.Sub(t.last) < trimPause {
		return false
	}
	t.untrimmed, t.last = false, now
	return true
}
