package mirror

import (
	"errors"
	"fmt"
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

// stale counts a name's writes in a row that failed by errStale.
type stale struct {
	// version is the resource version that the writes were planned on, empty for
	// no object.
	version string
	times   int
}

// stales are the counts by name.
type stales map[string]stale

// judge counts err, the outcome of a write that was planned on version. It
// reports whether another writer was faster, and returns err as what it is: from
// staleLimit on the API server's refusal.
func (s stales) judge(name, version string, err error) (raced bool, result error) {
	var behind *staleError
	if !errors.As(err, &behind) {
		delete(s, name)
		return false, err
	}
	now := stale{version: version, times: 1}
	if before, ok := s[name]; ok && before.version == version {
		now.times += before.times
	}
	s[name] = now
	if now.times >= staleLimit {
		return false, behind.refused()
	}
	return now.times == 1, err
}
