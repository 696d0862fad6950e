package sandboxtest

import (
	"context"
	"fmt"
	"testing"
	"time"
)

const (
	// pollPeriod is the period of polling.
	pollPeriod = 200 * time.Millisecond
	// deadlineMargin is how long before the deadline of go test waiting ends, so that the test can report
	// what it waited for and keep the logs: at the deadline itself the process is aborted.
	deadlineMargin = 20 * time.Second
)

// Eventually calls check every fifth of a second until it returns nil. It fails the test with the last
// error when the timeout has passed, or shortly before the deadline of go test. Its context ends then too.
// The context stays valid in functions of t.Cleanup.
func Eventually(t testing.TB, timeout time.Duration, check func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := waitContext(t, timeout)
	defer cancel()
	if err := poll(ctx, check); err != nil {
		t.Fatal(err)
	}
}

// poll calls check until it returns nil or ctx ends. The error has the last one of check.
func poll(ctx context.Context, check func(ctx context.Context) error) error {
	started := time.Now()
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		// at the end a check may have failed only because its context has ended
		if ctx.Err() == nil || last == nil {
			last = err
		}
		if err := sleep(ctx, pollPeriod); err != nil {
			return fmt.Errorf("after %s: %w", time.Since(started).Round(time.Second), last)
		}
	}
}

// sleep waits, or returns the cause of the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// waitContext returns a context for waiting that long, but not up to the deadline of go test. It does not
// end with the test, so that functions of t.Cleanup can wait as well.
func waitContext(t testing.TB, timeout time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(context.WithoutCancel(t.Context()), limit(t, timeout, deadlineMargin))
}

// limit returns the timeout, or less if go test has a deadline before: the time until margin before it.
func limit(t testing.TB, timeout, margin time.Duration) time.Duration {
	t.Helper()
	test, ok := t.(interface{ Deadline() (time.Time, bool) })
	if !ok {
		return timeout
	}
	deadline, ok := test.Deadline()
	if !ok {
		return timeout
	}
	return min(timeout, time.Until(deadline)-margin)
}
