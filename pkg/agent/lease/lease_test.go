package lease

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"open-cluster-management.io/helloworld-addon/pkg/agent/internal/fakeapi"
	"open-cluster-management.io/helloworld-addon/pkg/agent/kubeclient"
)

var (
	start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	spec  = Spec{Namespace: "copies", Name: "helloworld", Holder: "pod-1", Duration: time.Minute}
)

func TestNext(t *testing.T) {
	then, now := metav1.NewMicroTime(start), metav1.NewMicroTime(start.Add(time.Minute))
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
	empty := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "copies", Name: "helloworld"}}
	tests := []struct {
		name          string
		present, want *coordinationv1.Lease
	}{
		{"none", nil, lease("pod-1", now, now, nil)},
		{"own", managed, foreign(lease("pod-1", then, now, nil))},
		{"of the pod before", foreign(lease("pod-0", then, then, ptr.To[int32](4))), foreign(lease("pod-1", now, now, ptr.To[int32](5)))},
		{"without a spec", empty, lease("pod-1", now, now, ptr.To[int32](1))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := test.present.DeepCopy()
			if diff := cmp.Diff(test.want, Next(spec, test.present, now.Time)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, test.present); diff != "" {
				t.Errorf("the present lease was changed:\n%s", diff)
			}
		})
	}
}

// scene is a renewer with a clock that the test moves.
type scene struct {
	t       *testing.T
	api     *fakeapi.Server
	clock   *clocktesting.FakeClock
	healthy atomic.Bool
	refuse  atomic.Bool
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, api: fakeapi.New(), clock: clocktesting.NewFakeClock(start)}
	s.healthy.Store(true)
	s.api.Before = func(fakeapi.Request) *apierrors.StatusError {
		if s.refuse.Load() {
			return apierrors.NewServiceUnavailable("down")
		}
		return nil
	}
	s.api.Start()
	t.Cleanup(s.api.Close)
	return s
}

func (s *scene) run() {
	s.t.Helper()
	client, err := kubeclient.New(s.api.Config())
	if err != nil {
		s.t.Fatal(err)
	}
	renewer := New(Config{Spec: spec, Client: client.Leases("copies"), Clock: s.clock, Healthy: func() error {
		if s.healthy.Load() {
			return nil
		}
		return errors.New("not connected")
	}})
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { renewer.Run(ctx) })
	s.t.Cleanup(group.Wait)
	s.t.Cleanup(cancel)
	s.idle()
}

// idle waits until the renewer waits for the clock.
func (s *scene) idle() {
	s.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !s.clock.HasWaiters() {
		if time.Now().After(deadline) {
			s.t.Fatal("the renewer does not wait")
		}
		time.Sleep(time.Millisecond)
	}
}

// pass moves the clock, and returns the requests that followed.
func (s *scene) pass(d time.Duration) []string {
	s.t.Helper()
	s.clock.Step(d)
	s.idle()
	var list []string
	for _, r := range s.api.Requests() {
		list = append(list, r.Verb)
	}
	return list
}

func (s *scene) want(what string, got []string, want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("%s: requests (-want +got):\n%s", what, diff)
	}
}

func (s *scene) renewed() time.Time {
	s.t.Helper()
	lease, ok := s.api.Get("leases", "copies", "helloworld").(*coordinationv1.Lease)
	if !ok {
		s.t.Fatal("there is no lease")
	}
	return lease.Spec.RenewTime.Time
}

// period is long enough for one renewal, jitter included, and too short for two.
const period = 16 * time.Second

func TestRenewal(t *testing.T) {
	s := newScene(t)
	s.run()
	s.want("start", s.pass(0), "get", "create")
	s.want("before the period", s.pass(14*time.Second))
	s.want("after the period", s.pass(2*time.Second), "update")
	if got := s.renewed(); !got.Equal(start.Add(16 * time.Second)) {
		t.Errorf("renewed at %s", got)
	}
	s.api.Remove("leases", "copies", "helloworld")
	s.want("deleted by somebody", s.pass(period), "update", "get", "create")
	s.api.Put("leases", s.api.Get("leases", "copies", "helloworld"))
	s.want("changed by somebody", s.pass(period), "update", "get", "update")
	s.want("afterwards", s.pass(period), "update")
}

func TestRenewalOnlyWhileHealthy(t *testing.T) {
	s := newScene(t)
	s.healthy.Store(false)
	s.run()
	s.want("not healthy", s.pass(period))
	s.healthy.Store(true)
	s.want("healthy", s.pass(healthPeriod), "get", "create")
	s.healthy.Store(false)
	s.want("not healthy again", s.pass(period))
	s.healthy.Store(true)
	s.want("healthy again", s.pass(healthPeriod), "update")
}

func TestRenewalBacksOff(t *testing.T) {
	s := newScene(t)
	s.refuse.Store(true)
	s.run()
	requests := len(s.pass(0))
	for range 240 {
		requests += len(s.pass(250 * time.Millisecond))
	}
	if requests < 6 || requests > 12 {
		t.Errorf("%d requests in a minute without an API server", requests)
	}
	s.refuse.Store(false)
	s.want("back", s.pass(period), "get", "create")
}
