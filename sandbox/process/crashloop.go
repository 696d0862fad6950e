package process

import "time"

// The bound beyond which a program that keeps dying is reported: OCM's agents
// exit by design, once or twice while a cluster joins, so one death says nothing.
const (
	deathsTolerated = 3
	deathsWindow    = time.Minute
)

// deaths are the times at which a program ended.
type deaths []time.Time

// add notes a death and forgets those older than the window.
func (d deaths) add(now time.Time) deaths {
	kept := deaths{}
	for _, t := range d {
		if now.Sub(t) < deathsWindow {
			kept = append(kept, t)
		}
	}
	return append(kept, now)
}

// looping says whether the program died more often than is tolerated.
func (d deaths) looping() bool { return len(d) > deathsTolerated }

// pause is how long to wait before the next start: half a second at first, so that
// an agent that exits by design is back at once, and longer when it keeps dying.
func (d deaths) pause() time.Duration {
	switch n := len(d); {
	case n <= 1:
		return 500 * time.Millisecond
	case n <= deathsTolerated:
		return 2 * time.Second
	default:
		return 15 * time.Second
	}
}
