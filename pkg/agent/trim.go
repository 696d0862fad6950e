package agent

import (
	"context"
	"time"

	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/internal/retry"
)

// trimAfter is how long the mirror must be idle before its memory is trimmed.
const trimAfter = 10 * time.Second

// trimmer returns unused memory to the operating system when the mirror is idle again.
// Go's runtime keeps free heap in proportion to the heap in use
// (https://go.dev/doc/gc-guide#GOGC), and returns it slowly. An agent waits most of the
// time, on many clusters: with 1,000 ConfigMaps of 1 KiB and Go's defaults RssAnon is
// 10.5 MB with the trimmer and 14 MB without. A GOGC of 25 alone saves as much, but then
// collections delay the copies: the median time of a change was up to twice as long.
type trimmer struct {
	clock clock.WithTicker
	// release is debug.FreeOSMemory: one collection, some 20 ms with 5,000 ConfigMaps.
	release func()
	worked  retry.Signal
}

func newTrimmer(clock clock.WithTicker, release func()) *trimmer {
	return &trimmer{clock: clock, release: release, worked: retry.NewSignal()}
}

// run trims until ctx ends: once after each period of work.
func (t *trimmer) run(ctx context.Context) {
	idle := t.clock.NewTimer(trimAfter)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.worked:
			idle.Reset(trimAfter)
		case <-idle.C():
			t.release()
		}
	}
}
