//go:build situations

package situations

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

const (
	pollInterval = 100 * time.Millisecond
	// deadline is a guard against waiting for ever, not an aim. A kubelet waits up
	// to five minutes before it starts a program again that keeps ending, as a
	// registration agent with a bad bootstrap kubeconfig does.
	deadline = 7 * time.Minute
	// quiet is how long something that must not happen is watched for.
	quiet = 3 * time.Second
)

// check returns nil when the expected state is there, and otherwise what is there
// instead.
type check func(ctx context.Context) error

// eventually fails the test when the check does not pass in time.
func eventually(t *testing.T, what string, c check) {
	t.Helper()
	if err := poll(t.Context(), c); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func poll(ctx context.Context, c check) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
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
			return fmt.Errorf("not within %s; last state: %w", deadline, last)
		case <-time.After(pollInterval):
		}
	}
}

// consistently fails the test when the check fails once within the window.
func consistently(t *testing.T, window time.Duration, what string, c check) {
	t.Helper()
	for end := time.Now().Add(window); time.Now().Before(end); {
		if err := c(t.Context()); err != nil {
			t.Fatalf("%s: no longer so: %v", what, err)
		}
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(pollInterval):
		}
	}
}

// must fails the test on an error of an operation that has to succeed.
func must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// not returns an error with the text if there is none.
func not(err error, text string) error {
	if err == nil {
		return errors.New(text)
	}
	return nil
}
