package node

import "time"

// BackOff is kubelet's rule for a container that keeps ending: the first restart
// is immediate, the next waits for Initial, each further one twice as long as the
// one before, up to Max. A container that ran for twice Max starts over.
type BackOff struct {
	Initial, Max time.Duration
}

// delay is the wait before the restart that follows the given number of
// restarts in a row.
func (b BackOff) delay(restartsInRow int) time.Duration {
	if restartsInRow <= 0 {
		return 0
	}
	wait := b.Initial
	for range restartsInRow - 1 {
		if wait >= b.Max {
			break
		}
		wait *= 2
	}
	return min(wait, b.Max)
}

// forgets says whether a run was long enough to start over.
func (b BackOff) forgets(ran time.Duration) bool { return ran >= 2*b.Max }
