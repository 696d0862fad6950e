package process

import "time"

// The limits beyond which a program counts as crash-looping. OCM's agents exit by design once or
// twice while a cluster joins, so a few deaths are normal.
const (
	deathsTolerated = 3
	deathsWindow    = time.Minute
)

// deaths holds the times at which a program ended.
type deaths []time.Time

// add returns the deaths within the window, with the new one.
func (d deaths) add(now time.Time) deaths {
	kept := deaths{}
	for _, t := range d {
		if now.Sub(t) < deathsWindow {
			kept = append(kept, t)
		}
	}
	return append(kept, now)
}

// looping reports whether the program died more often than is tolerated.
func (d deaths) looping() bool { return len(d) > deathsTolerated }

// pause returns the delay before the next start: half a second at first, because some agents exit by
// design, and longer when the program keeps dying.
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
