package mirror

import (
	"errors"
	"fmt"
	"slices"
)

// staleLimit is how many times in a row a write may fail because the cache is
// behind, while the cache shows no newer object. With the waits between them,
// which double from retryBase, that takes about 2.5 seconds; a cache that is
// behind is up to date much sooner.
const staleLimit = 8

// errStale marks the error of a write on an object that had changed since the
// cache saw it. Nothing was written. An event with the present object is on its
// way.
var errStale = errors.New("the cache is behind the API server")

// staleError is an answer of an API server that is taken for errStale. An
// admission plugin may give the same answer for good.
type staleError struct {
	action string
	cause  error
}

func (e *staleError) Error() string { return fmt.Sprintf("%s: %v", e.action, e.cause) }

func (e *staleError) Unwrap() []error { return []error{errStale, e.cause} }

// refused is the same answer, not taken for errStale.
func (e *staleError) refused() error { return fmt.Errorf("%s: %w", e.action, e.cause) }

// stale is a name's record of writes in a row that failed by errStale, and of the
// successful write before them.
type stale struct {
	// version is the resource version that the failed writes were planned on, empty
	// for no object.
	version string
	times   int
	// lagging are the versions that the cache may show until it has caught up with
	// the successful write.
	lagging []string
}

// stales are the records by name.
type stales map[string]stale

// judge records err, the outcome of an action that was planned on version. It
// reports whether another writer was faster, and returns err as what it is: from
// staleLimit on the API server's refusal. A write that was planned on a version
// which the agent itself has replaced failed because the cache is behind, and
// not because of another writer.
func (s stales) judge(action Action, version string, err error) (raced bool, result error) {
	before := s[action.Name]
	var behind *staleError
	switch {
	case errors.As(err, &behind):
	case err == nil && action.Writes():
		s[action.Name] = stale{lagging: laggingAfter(action.Kind, version)}
		return false, nil
	default:
		delete(s, action.Name)
		return false, err
	}
	now := stale{version: version, times: 1}
	if before.version == version {
		now.times += before.times
	}
	lags := slices.Contains(before.lagging, version)
	if lags {
		now.lagging = before.lagging
	}
	s[action.Name] = now
	if now.times >= staleLimit {
		return false, behind.refused()
	}
	return now.times == 1 && !lags, err
}

// laggingAfter returns the versions that the cache may show after a successful
// write that was planned on version. A Replace deletes the object before it
// creates it, so that the cache may show no object as well.
func laggingAfter(kind Kind, version string) []string {
	if kind == Replace {
		return []string{version, ""}
	}
	return []string{version}
}
