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
// none. What others put on the lease stays. The result carries the present
// one's resource version, so that a lost race is noticed.
func Next(spec Spec, present *coordinationv1.Lease, now time.Time) *coordinationv1.Lease {
	renewed := metav1.NewMicroTime(now)
	seconds := int32(math.Ceil(spec.Duration.Seconds()))
	next := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: spec.Namespace, Name: spec.Name}}
	if present != nil {
		next = present.DeepCopy()
		next.ManagedFields = nil
	}
	if next.Spec.HolderIdentity == nil || *next.Spec.HolderIdentity != spec.Holder || next.Spec.AcquireTime == nil {
		if present != nil {
			transitions := int32(1)
			if next.Spec.LeaseTransitions != nil {
				transitions += *next.Spec.LeaseTransitions
			}
			next.Spec.LeaseTransitions = &transitions
		}
		next.Spec.HolderIdentity = &spec.Holder
		next.Spec.AcquireTime = &renewed
	}
	next.Spec.LeaseDurationSeconds = &seconds
	next.Spec.RenewTime = &renewed
	return next
}
