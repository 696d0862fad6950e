package sandboxtest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestAwait(t *testing.T) {
	for _, test := range []struct {
		name string
		// available and found are the times at which the add-on becomes available, and at which what was
		// missing is there.
		available, found time.Duration
		want             string
		took             time.Duration
	}{
		{"it becomes available", 10 * time.Second, 0, "", 10 * time.Second},
		{"another goroutine enables it in time", time.Hour, 14 * time.Second, "after 2m0s: not yet", 2 * time.Minute},
		{"it is enabled before it becomes available", 40 * time.Second, 14 * time.Second, "", 40 * time.Second},
		{"a manager that has just started enables it", 40 * time.Second, 18 * time.Second, "", 40 * time.Second},
		{"it is not enabled", time.Hour, time.Hour, "after 20s: not yet", 20 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				started := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				err := await(ctx, started.Add(hopelessAfter), func(context.Context) error {
					if time.Since(started) < test.available {
						return errors.New("not yet")
					}
					return nil
				}, func(context.Context) bool { return time.Since(started) < test.found })
				got := ""
				if err != nil {
					got = err.Error()
				}
				if took := time.Since(started); got != test.want || took.Round(time.Second) != test.took {
					t.Errorf("await = %q after %s, want %q after %s", got, took, test.want, test.took)
				}
			})
		})
	}
}
