package mirror

import (
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// stuckAfter is how long every write may fail before the mirror is said not to
// work. It is longer than an API server takes to restart.
const stuckAfter = time.Minute

// trend remembers since when no write was successful though some were tried.
type trend struct {
	// failingSince is when the first write failed since the last success, the
	// zero time while none has.
	failingSince time.Time
}

// after takes up the outcome of a write at the time now. left are the names that
// are not in sync after it: once none of them waits for a write that failed,
// what was before says nothing any more.
func (t trend) after(succeeded bool, left failures, now time.Time) trend {
	switch {
	case succeeded, len(left.retried(1)) == 0:
		return trend{}
	case t.failingSince.IsZero():
		return trend{failingSince: now}
	default:
		return t
	}
}

// stuck says why the mirror does not work, or nil: for longer than stuckAfter
// every write has failed, and not because of what is written. One ConfigMap
// that the API server rejects for its content, or that is the only one which is
// refused, is reported, and is no reason to call the whole add-on unavailable.
func stuck(t trend, failed failures, now time.Time) error {
	if t.failingSince.IsZero() || now.Sub(t.failingSince) <= stuckAfter {
		return nil
	}
	count, example := 0, Failure{}
	for _, failure := range failed.sorted() {
		if !failure.Kind.Writes() || failure.blame == content {
			continue
		}
		if failure.blame == system {
			count++
		}
		count++
		if example.Name == "" {
			example = failure
		}
	}
	// Two that are refused, or one that met an API server which does not work.
	if count < 2 {
		return nil
	}
	return fmt.Errorf("no ConfigMap could be written for more than %s: %s", stuckAfter, example.Reason)
}

// blame is whose fault it is that a write failed.
type blame int

const (
	// system: the API server, or the way to it.
	system blame = iota
	// refusal: a right that is missing, a quota, or an admission plugin; the
	// API server does not say which, so that it may be about one object only.
	refusal
	// content: the object itself.
	content
)

func blameFor(err error) blame {
	switch {
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return content
	case apierrors.IsForbidden(err):
		return refusal
	default:
		return system
	}
}
