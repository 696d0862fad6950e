//go:build kind

package pods

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

const (
	pollInterval = 50 * time.Millisecond
	// deadline is a guard against waiting for ever, not an aim.
	deadline = 4 * time.Minute
)

// eventually waits until a check has no error, and returns how long that took.
func eventually(t *testing.T, what string, check func(ctx context.Context) error) time.Duration {
	t.Helper()
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return time.Since(start)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %s: %v", what, deadline, errors.Join(err, t.Context().Err()))
		case <-ticker.C:
		}
	}
}

// seen is eventually, and prints the time since a start.
func seen(t *testing.T, start time.Time, what string, check func(ctx context.Context) error) {
	t.Helper()
	eventually(t, what, check)
	t.Logf("%8s  %s", time.Since(start).Round(time.Millisecond), what)
}

func must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// kubectl runs kubectl on a hub; it has to succeed.
func kubectl(t *testing.T, h *hub, args ...string) string {
	t.Helper()
	return kubectlFrom(t, h, "", args...)
}

func kubectlFrom(t *testing.T, h *hub, in string, args ...string) string {
	t.Helper()
	output, err := h.run(t.Context(), in, args...)
	must(t, fmt.Sprintf("on %s", h.name), err)
	return output
}
