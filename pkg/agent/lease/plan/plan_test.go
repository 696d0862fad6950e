package plan

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

var (
	start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	spec  = Spec{Namespace: "copies", Name: "helloworld", Holder: "pod-1", Duration: time.Minute}
)

func TestNext(t *testing.T) {
	then, now, later := metav1.NewMicroTime(start), metav1.NewMicroTime(start.Add(time.Minute)), metav1.NewMicroTime(start.AddDate(100, 0, 0))
	lease := func(holder string, acquired, renewed metav1.MicroTime, transitions *int32) *coordinationv1.Lease {
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "copies", Name: "helloworld"},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: ptr.To[int32](60),
				AcquireTime: &acquired, RenewTime: &renewed, LeaseTransitions: transitions},
		}
	}
	foreign := func(l *coordinationv1.Lease) *coordinationv1.Lease {
		l.ResourceVersion, l.UID, l.Labels = "7", "u", map[string]string{"team": "blue"}
		return l
	}
	managed := foreign(lease("pod-1", then, then, nil))
	managed.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "x"}}
	spoiled := func(spoil func(*coordinationv1.LeaseSpec)) *coordinationv1.Lease {
		l := foreign(lease("pod-1", then, then, ptr.To[int32](4)))
		spoil(&l.Spec)
		return l
	}
	tests := []struct {
		name, reason  string
		present, want *coordinationv1.Lease
	}{
		{"none", "the API server gets every field", nil, lease("pod-1", now, now, nil)},
		{"own", "only the time of renewal changes", managed, foreign(lease("pod-1", then, now, nil))},
		{"of the previous pod", "the holder changes, and the change is counted",
			foreign(lease("pod-0", then, then, ptr.To[int32](4))), foreign(lease("pod-1", now, now, ptr.To[int32](5)))},
		{"without a spec", "a lease without a holder is acquired",
			foreign(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "copies", Name: "helloworld"}}),
			foreign(lease("pod-1", now, now, ptr.To[int32](1)))},
		{"renewed in the future", "readers would consider it valid for a century",
			foreign(lease("pod-1", then, later, nil)), foreign(lease("pod-1", then, now, nil))},
		{"acquired in the future", "no holder can have done that",
			foreign(lease("pod-1", later, then, nil)), foreign(lease("pod-1", now, now, ptr.To[int32](1)))},
		{"no time of renewal", "readers fail on it",
			spoiled(func(s *coordinationv1.LeaseSpec) { s.RenewTime = nil }), foreign(lease("pod-1", then, now, ptr.To[int32](4)))},
		{"negative duration", "it would never be valid",
			spoiled(func(s *coordinationv1.LeaseSpec) { s.LeaseDurationSeconds = ptr.To[int32](-1) }), foreign(lease("pod-1", then, now, ptr.To[int32](4)))},
		{"negative transitions", "the API server rejects them",
			spoiled(func(s *coordinationv1.LeaseSpec) { s.LeaseTransitions = ptr.To[int32](-7) }), foreign(lease("pod-1", then, now, ptr.To[int32](0)))},
		{"no more transitions to count", "one more would be negative",
			foreign(lease("pod-0", then, then, ptr.To[int32](math.MaxInt32))), foreign(lease("pod-1", now, now, ptr.To[int32](math.MaxInt32)))},
		{"fields of coordinated leader election", "other clients would take the lease for that of an election",
			spoiled(func(s *coordinationv1.LeaseSpec) {
				s.Strategy, s.PreferredHolder = ptr.To(coordinationv1.OldestEmulationVersion), ptr.To("x")
			}), foreign(lease("pod-1", then, now, ptr.To[int32](4)))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := test.present.DeepCopy()
			if diff := cmp.Diff(test.want, Next(spec, test.present, now.Time)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
			if diff := cmp.Diff(before, test.present); diff != "" {
				t.Errorf("the present lease was changed:\n%s", diff)
			}
		})
	}
}

// TestNextOfTheLongestLease: the API has 32 bits for the duration.
func TestNextOfTheLongestLease(t *testing.T) {
	longest := spec
	longest.Duration = math.MaxInt32 * time.Second
	if got := *Next(longest, nil, start).Spec.LeaseDurationSeconds; got != math.MaxInt32 {
		t.Errorf("got %d seconds, want %d", got, math.MaxInt32)
	}
}

func TestWaits(t *testing.T) {
	const (
		period  = 15 * time.Second
		longest = math.MaxInt32 * time.Second
	)
	tests := []struct {
		name string
		got  time.Duration
		want time.Duration
	}{
		{"a renewal, at the earliest", AfterRenewal(period, 0), period},
		{"a renewal, at the latest", AfterRenewal(period, 1), 16500 * time.Millisecond},
		{"a renewal of the longest lease, at the latest", AfterRenewal(longest, 1), longest + longest/10},
		{"a first renewal, at the earliest", AfterFirst(period, 0), 0},
		{"a first renewal, at the latest", AfterFirst(period, 1), period},
		{"a first failure", AfterFailure(1, period, 0), 500 * time.Millisecond},
		{"a first failure, with jitter", AfterFailure(1, period, 1), 250 * time.Millisecond},
		{"a third failure", AfterFailure(3, period, 0), 2 * time.Second},
		{"many failures", AfterFailure(1000, period, 0), 5 * time.Second},
		{"many failures, with jitter", AfterFailure(1000, period, 1), 2500 * time.Millisecond},
		{"many failures within the longest period", AfterFailure(1000, longest, 0), longest / 3},
		{"many failures within a short period", AfterFailure(1000, time.Second, 0), 500 * time.Millisecond},
		{"many failures within a tiny period", AfterFailure(1000, 100*time.Millisecond, 0), 100 * time.Millisecond},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("after %s: %s, want %s", test.name, test.got, test.want)
		}
	}
}
