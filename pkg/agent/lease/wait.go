package lease

import "time"

const (
	// renewals is how often the lease is renewed within its duration, as the
	// kubelet does with a node's: with the default of 60 s every 15 s. OCM
	// calls the agent unavailable after 5 minutes without a renewal.
	renewals = 4
	// jitter is the part of the period by which a wait is shorter at most, so
	// that many agents stay spread over the period.
	jitter = 0.1
	// retryBase is the wait after a first failed renewal; it doubles with each
	// further one, up to a part of the period.
	retryBase = 500 * time.Millisecond
	// retries is how often within a period at most a renewal that fails is tried
	// again: the wait that an outage is longer by for the lease, against the
	// load on an API server that has just come back.
	retries = 3
)

// Period is the time from one renewal of a lease to the next, at most.
func Period(duration time.Duration) time.Duration { return duration / renewals }

// The waits take a random number from 0 up to, but without, 1.

// afterFirst is how long to wait after a first renewal, or the first one after
// a pause or an outage. Many agents may have started or seen the API server
// return in the same moment: the next renewal comes after a random part of a
// wait, what is left of one that somebody finds under way, so that they are
// spread over the period from then on.
func afterFirst(period time.Duration, part, random float64) time.Duration {
	return time.Duration(part * float64(afterRenewal(period, random)))
}

// afterRenewal is how long to wait after any other renewal.
func afterRenewal(period time.Duration, random float64) time.Duration {
	return period - time.Duration(random*jitter*float64(period))
}

// afterFailure is how long to wait after so many failures in a row, at least 1:
// a random time between half of the back-off and all of it.
func afterFailure(failures int, period time.Duration, random float64) time.Duration {
	limit := max(period/retries, min(retryBase, period))
	wait := min(retryBase, limit)
	for range failures - 1 {
		if wait >= limit {
			break
		}
		wait *= 2
	}
	wait = min(wait, limit)
	return wait - time.Duration(random*float64(wait)/2)
}
