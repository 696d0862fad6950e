package sandboxtest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestAwait(t *testing.T) {
	const (
		timeout = 2*time.Minute + time.Second // no report is read at its end
		text    = "ManagedClusterAddOn cluster1/app:\n  no conditions"
	)
	for _, test := range []struct {
		name string
		// available and found are the times at which the add-on becomes available, and at which the report has
		// what was missing.
		available, found time.Duration
		want             string
		took             time.Duration
	}{
		{"it becomes available", 10 * time.Second, 0, "", 10 * time.Second},
		{"another goroutine enables it in time", time.Hour, 14 * time.Second, "the add-on app is not available on cluster1 after 2m1s: not yet\n" + text, timeout},
		{"it is enabled before it becomes available", 40 * time.Second, 14 * time.Second, "", 40 * time.Second},
		{"it is not enabled", time.Hour, time.Hour, "the add-on app cannot become available on cluster1 (waited 15s): " +
			"the hub has no ManagedClusterAddOn cluster1/app: call Enable\n" + text, 15 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				started := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				err := await(ctx, started.Add(hopelessAfter), func(context.Context) error {
					if time.Since(started) < test.available {
						return errors.New("not yet")
					}
					return nil
				}, func(ctx context.Context) *report {
					if ctx.Err() != nil {
						t.Error("the report is read after the end of the context")
					}
					return &report{addon: "app", cluster: "cluster1", notEnabled: time.Since(started) < test.found}
				})
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
