// Package plan decides what a Lease has to contain and when it is renewed. It is
// pure: clock and random numbers are the caller's.
package plan

import (
	"math"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/internal/retry"
)

// Spec is the desired lease.
type Spec struct {
	Namespace string
	Name      string
	// Holder is the identity that the lease gets.
	Holder string
	// Duration is how long the lease is valid after a renewal. The API counts in
	// seconds; fractions are rounded up.
	Duration time.Duration
}

// Next returns the lease to write at the time now. Present is the lease on the API
// server, nil if there is none. Labels and annotations of others stay; the spec is
// the holder's alone, so that the next renewal repairs invalid fields. The result
// has the resourceVersion of present, so that the API server rejects a write that
// lost a race.
func Next(spec Spec, present *coordinationv1.Lease, now time.Time) *coordinationv1.Lease {
	next := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: spec.Namespace, Name: spec.Name}}
	if present != nil {
		next.ObjectMeta = *present.ObjectMeta.DeepCopy()
		next.ManagedFields = nil
	}
	renewed := metav1.NewMicroTime(now)
	seconds := int32(math.Ceil(spec.Duration.Seconds()))
	next.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: &spec.Holder, LeaseDurationSeconds: &seconds, AcquireTime: &renewed, RenewTime: &renewed,
	}
	switch {
	case present == nil:
	case isHeldBy(present, spec.Holder, now):
		next.Spec.AcquireTime = present.Spec.AcquireTime
		next.Spec.LeaseTransitions = transitions(present, 0)
	default:
		next.Spec.LeaseTransitions = transitions(present, 1)
	}
	return next
}

// isHeldBy reports whether holder has the lease. A lease that was acquired in the
// future is not held.
func isHeldBy(present *coordinationv1.Lease, holder string, now time.Time) bool {
	return present.Spec.HolderIdentity != nil && *present.Spec.HolderIdentity == holder &&
		present.Spec.AcquireTime != nil && !present.Spec.AcquireTime.After(now)
}

// transitions returns the number of transitions of present, increased by more. The
// API server rejects a negative number, so the number stops at the largest one.
func transitions(present *coordinationv1.Lease, more int32) *int32 {
	if present.Spec.LeaseTransitions == nil && more == 0 {
		return nil
	}
	count := int32(0)
	if present.Spec.LeaseTransitions != nil {
		count = max(count, *present.Spec.LeaseTransitions)
	}
	if count < math.MaxInt32 {
		count += more
	}
	return &count
}

const (
	// renewals is how often the lease is renewed within its duration, as the
	// kubelet renews the lease of a node: with the default of 60 s every 15 s.
	// https://kubernetes.io/docs/concepts/architecture/leases/
	renewals = 4
	// jitter is the largest part of the period by which a wait is longer, so that
	// many agents stay spread over the period.
	jitter = 0.1
	// retryBase is the wait after the first failed renewal.
	retryBase = 500 * time.Millisecond
	// retries limits the back-off to the period divided by it. A smaller limit
	// renews sooner after an outage; a larger one spares an API server that has
	// just come back.
	retries = 3
)

// Period returns the default time between two renewals of a lease.
func Period(duration time.Duration) time.Duration { return duration / renewals }

// AfterFirst returns the wait after the first renewal: a random part of the period.
// Many agents may have started in the same moment, and their next renewals are spread
// over the period. Random is at least 0 and less than 1.
func AfterFirst(period time.Duration, random float64) time.Duration {
	return time.Duration(random * float64(period))
}

// AfterRenewal returns the time from when a renewal is due until the next one is: the
// period and up to a tenth more, so that N renewers make at most N renewals within a
// period on average. Random is at least 0 and less than 1.
func AfterRenewal(period time.Duration, random float64) time.Duration {
	return period + time.Duration(random*jitter*float64(period))
}

// AfterFailure returns the wait after so many consecutive failures: between half of
// the back-off and all of it. Random is at least 0 and less than 1.
func AfterFailure(failures int, period time.Duration, random float64) time.Duration {
	wait := retry.Delay(failures, retryBase, max(period/retries, min(retryBase, period)))
	return wait - time.Duration(random*float64(wait)/2)
}
