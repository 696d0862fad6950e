//go:build e2e

package lease

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// record follows one lease and keeps the time of each renewal.
type record struct {
	mu       sync.Mutex
	renewals []time.Time
}

// follow keeps a record until the test ends.
func follow(t *testing.T, a *api, namespace, name string) *record {
	t.Helper()
	r := &record{}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var group sync.WaitGroup
	group.Go(func() {
		ticker := time.NewTicker(pollInterval)
		defer ticker.Stop()
		for ctx.Err() == nil {
			lease, err := a.kube.CoordinationV1().Leases(namespace).Get(ctx, name, metav1.GetOptions{})
			if err == nil && lease.Spec.RenewTime != nil {
				r.add(lease.Spec.RenewTime.Time)
			}
			select {
			case <-ctx.Done():
			case <-ticker.C:
			}
		}
	})
	t.Cleanup(func() { cancel(); group.Wait() })
	return r
}

func (r *record) add(renewed time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.renewals); n == 0 || renewed.After(r.renewals[n-1]) {
		r.renewals = append(r.renewals, renewed)
	}
}

// last is the last renewal, the zero time where there was none.
func (r *record) last() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.renewals) == 0 {
		return time.Time{}
	}
	return r.renewals[len(r.renewals)-1]
}

// firstAfter is the first renewal after a time.
func (r *record) firstAfter(after time.Time) (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, renewed := range r.renewals {
		if renewed.After(after) {
			return renewed, true
		}
	}
	return time.Time{}, false
}

// renewsAfter checks that there were two renewals after a time.
func (r *record) renewsAfter(after time.Time) check {
	return func(context.Context) error {
		if first, ok := r.firstAfter(after); ok {
			if _, ok := r.firstAfter(first); ok {
				return nil
			}
		}
		return fmt.Errorf("last renewed at %s", r.last())
	}
}

// gap is the longest time between two renewals that follow each other, from the
// last one before since on.
func (r *record) gap(since time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	var longest time.Duration
	for i := 1; i < len(r.renewals); i++ {
		if r.renewals[i].After(since) {
			longest = max(longest, r.renewals[i].Sub(r.renewals[i-1]))
		}
	}
	return longest
}

// tolerance is what a measured gap may be longer than one period and the
// outage, in periods: the jitter, a request's own time, the wait for the next
// attempt after one that failed, and what else a busy machine does.
const tolerance = 0.75

// meanGap returns the mean of the last gaps between two renewals. It reports
// whether there are two renewals more than it needs: a sidecar's second renewal
// comes after a random part of the period, so the gap before it does not count.
func (r *record) meanGap(gaps int) (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.renewals)
	if n < gaps+3 {
		return 0, false
	}
	return r.renewals[n-1].Sub(r.renewals[n-1-gaps]) / time.Duration(gaps), true
}

// wantGap fails the test when the renewals since then are further apart than
// one period and the outage.
func (r *record) wantGap(t *testing.T, what string, since time.Time, outage time.Duration) {
	t.Helper()
	gap := r.gap(since)
	ratio := float64(gap-outage) / float64(period)
	t.Logf("%s: longest gap %s, outage %s: beyond the outage %.2f periods of %s", what,
		gap.Round(time.Millisecond), outage.Round(time.Millisecond), ratio, period)
	if ratio > 1+tolerance {
		t.Errorf("%s: the gap is %.2f periods longer than the outage", what, ratio)
	}
}
