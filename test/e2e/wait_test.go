//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"
)

const (
	pollInterval = 50 * time.Millisecond
	// callTimeout is for one request.
	callTimeout = 15 * time.Second
	// deadline is for anything to happen. It is a guard against waiting for
	// ever, not an aim: the machine may be slow. Open Cluster Management's own
	// slowest step, the look at the lease, comes every 30 seconds.
	deadline = 2 * time.Minute
	// quiet is how long something that must not happen is watched for, after
	// a sign that the component concerned has seen its cause.
	quiet = 2 * time.Second
)

// check returns nil when the expected state is there, and otherwise an error
// that describes the state that is there instead.
type check func(ctx context.Context) error

// poll calls the check until it passes or the limit is over, and then returns
// the last state.
func poll(ctx context.Context, limit time.Duration, c check) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var last error
	for {
		err := c(ctx)
		if err == nil {
			return nil
		}
		// A request that the deadline cut off says nothing about the state.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %s; last state: %w", limit, last)
		case <-ticker.C:
		}
	}
}

// eventually fails the test when the check does not pass in time.
func eventually(t *testing.T, what string, c check) {
	t.Helper()
	if err := poll(t.Context(), deadline, c); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// consistently fails the test when the check fails once within the window.
func consistently(t *testing.T, window time.Duration, what string, c check) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), window)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		if err := c(t.Context()); err != nil {
			t.Fatalf("%s: no longer so: %v", what, err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// milestone is something that a start brings about, with the time it takes.
type milestone struct {
	name  string
	start time.Time
	check check
}

// reach waits for all milestones in one loop, so that each one's time is its
// own, and records the times.
func reach(t *testing.T, milestones []milestone) {
	t.Helper()
	pending := milestones
	err := poll(t.Context(), deadline, func(ctx context.Context) error {
		var left []milestone
		var first error
		for _, m := range pending {
			err := m.check(ctx)
			if err == nil {
				timings.record(m.name, time.Since(m.start))
				continue
			}
			left = append(left, m)
			if first == nil {
				first = fmt.Errorf("%s: %w", m.name, err)
			}
		}
		pending = left
		return first
	})
	if err != nil {
		t.Fatal(err)
	}
}

// must fails the test on an error of an operation that has to succeed.
func must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// cleanup registers fn for the end of the test; the test's own context is
// over by then.
func cleanup(t *testing.T, what string, fn func(ctx context.Context) error) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*deadline)
		defer cancel()
		if err := fn(ctx); err != nil {
			t.Errorf("clean up: %s: %v", what, err)
		}
	})
}
