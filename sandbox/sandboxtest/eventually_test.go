package sandboxtest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestPoll(t *testing.T) {
	for _, test := range []struct {
		name  string
		check func(ctx context.Context, call int) error
		want  string
	}{
		{"at once", func(context.Context, int) error { return nil }, ""},
		{"later", func(_ context.Context, call int) error {
			if call < 3 {
				return errors.New("not yet")
			}
			return nil
		}, ""},
		{"never: the last error counts", func(_ context.Context, call int) error { return errors.New("call " + string(rune('0'+min(call, 5)))) }, "after 10s: call 5"},
		{"the end of the context is no cause", func(ctx context.Context, call int) error {
			if call == 1 {
				return errors.New("the cause")
			}
			<-ctx.Done()
			return ctx.Err()
		}, "after 10s: the cause"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				calls, got := 0, ""
				if err := poll(ctx, func(ctx context.Context) error { calls++; return test.check(ctx, calls) }); err != nil {
					got = err.Error()
				}
				if got != test.want {
					t.Errorf("poll = %q, want %q", got, test.want)
				}
			})
		})
	}
}

// withDeadline is a test with a deadline of go test.
type withDeadline struct {
	testing.TB
	deadline time.Time
}

func (w withDeadline) Deadline() (time.Time, bool) { return w.deadline, !w.deadline.IsZero() }

func TestLimitLeavesTimeForTheReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			name     string
			deadline time.Time
			want     time.Duration
		}{
			{"no deadline", time.Time{}, time.Minute},
			{"a late one", time.Now().Add(time.Hour), time.Minute},
			{"an early one", time.Now().Add(50 * time.Second), 30 * time.Second},
		} {
			if got := limit(withDeadline{t, test.deadline}, time.Minute, 20*time.Second); got != test.want {
				t.Errorf("%s: %s, want %s", test.name, got, test.want)
			}
		}
	})
}

// failed is a test whose Fatal is recorded.
type failed struct {
	testing.TB
	ctx     context.Context
	message string
}

func (f *failed) Context() context.Context { return f.ctx }

func (f *failed) Fatal(args ...any) { f.message = args[0].(error).Error() }

// TestEventuallyInCleanup checks that the end of the test's context, which is before functions of
// t.Cleanup, does not end the wait.
func TestEventuallyInCleanup(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	f := &failed{TB: t, ctx: ended}
	Eventually(f, time.Minute, func(ctx context.Context) error { return ctx.Err() })
	if f.message != "" {
		t.Errorf("in a function of t.Cleanup: %s", f.message)
	}
	Eventually(f, time.Millisecond, func(context.Context) error { return errors.New("never") })
	if !strings.Contains(f.message, "never") {
		t.Errorf("the message is %q, want the error", f.message)
	}
}
