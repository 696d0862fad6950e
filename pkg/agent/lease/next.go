package lease

import (
	"math"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Spec is what the lease has to be.
type Spec struct {
	Namespace string
	Name      string
	// Holder is the identity of whoever renews.
	Holder string
	// Duration is how long the lease is good for after a renewal. The API
	// counts in seconds; fractions are rounded up.
	Duration time.Duration
}

// Next is the lease to write at the time now, given the present one, nil for
// none. Labels, annotations and the like that others put on the lease stay; its
// spec is the holder's alone, so that whatever nonsense is there is gone with
// the next renewal. The result carries the present one's resource version, so
// that a lost race is noticed.
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

// isHeldBy says whether the lease is the holder's already. One that was taken
// in the future was not taken.
func isHeldBy(present *coordinationv1.Lease, holder string, now time.Time) bool {
	return present.Spec.HolderIdentity != nil && *present.Spec.HolderIdentity == holder &&
		present.Spec.AcquireTime != nil && !present.Spec.AcquireTime.After(now)
}

// transitions counts the changes of the holder, more of them than before. The
// API server refuses a negative number, so the count stops at the highest.
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
