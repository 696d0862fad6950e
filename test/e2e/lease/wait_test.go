//go:build e2e

package lease

import (
	"context"
	"testing"
	"time"
)

const (
	pollInterval = 50 * time.Millisecond
	callTimeout  = 15 * time.Second
	// deadline is a guard, not an aim: a kubelet takes up to 90 s to bring a
	// ConfigMap into a running pod, and waits between restarts.
	deadline = 6 * time.Minute
)

// check returns nil when the expected state is there, and otherwise what is
// there instead.
type check func(ctx context.Context) error

func eventually(t *testing.T, what string, c check) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		err := c(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %s; last state: %v", what, deadline, err)
		case <-ticker.C:
		}
	}
}

func must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// cleanup registers fn for the end of the test, whose own context is over then.
func cleanup(t *testing.T, what string, fn func(ctx context.Context) error) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), deadline)
		defer cancel()
		if err := fn(ctx); err != nil {
			t.Errorf("clean up: %s: %v", what, err)
		}
	})
}
