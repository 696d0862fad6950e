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
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
	"open-cluster-management.io/helloworld-addon/pkg/agent/kubeclient"
)

var (
	start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	spec  = Spec{Namespace: "copies", Name: "helloworld", Holder: "pod-1", Duration: time.Minute}
)

// scene is a renewer with a clock that the test moves.
type scene struct {
	t       *testing.T
	api     *fakeapi.Server
	clock   *clocktesting.FakeClock
	healthy atomic.Bool
	refuse  atomic.Bool
	paused  atomic.Int32
	results atomic.Pointer[error]
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
	renewer := New(Config{Spec: spec, Client: client.Leases("copies"), Clock: s.clock,
		// Almost the longest waits after a success, and the shortest after a failure.
		Random: func() float64 { return 0.99 },
		Healthy: func() error {
			if s.healthy.Load() {
				return nil
			}
			return errors.New("not connected")
		},
		Paused:  func(error) { s.paused.Add(1) },
		Renewed: func(err error) { s.results.Store(&err) },
	})
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { renewer.Run(ctx) })
	s.t.Cleanup(group.Wait)
	s.t.Cleanup(cancel)
	s.idle()
}

// idle returns when the renewer waits for the clock.
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

// pass moves the clock and returns the verbs of the requests that followed.
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
const period = 17 * time.Second

func TestRenewal(t *testing.T) {
	s := newScene(t)
	s.run()
	s.want("start", s.pass(0), "get", "create")
	s.want("before the first part of the period", s.pass(14*time.Second))
	s.want("after it", s.pass(time.Second), "update")
	if got := s.renewed(); !got.Equal(start.Add(15 * time.Second)) {
		t.Errorf("renewed at %s", got)
	}
	s.want("before the period", s.pass(15*time.Second))
	s.want("after the period", s.pass(2*time.Second), "update")
	s.api.Remove("leases", "copies", "helloworld")
	s.want("deleted by another client", s.pass(period), "update", "get", "create")
	s.api.Put("leases", s.api.Get("leases", "copies", "helloworld"))
	s.want("changed by another client", s.pass(period), "update", "get", "update")
	s.want("afterwards", s.pass(period), "update")
}

// TestPeriod: the default is a quarter of the lease's duration.
func TestPeriod(t *testing.T) {
	for period, want := range map[time.Duration]time.Duration{0: 15 * time.Second, time.Minute: time.Minute} {
		renewer := New(Config{Spec: spec, Period: period, Clock: clocktesting.NewFakeClock(start), Random: func() float64 { return 0 }})
		renewer.due = start
		if got := renewer.next().Sub(start); got != want {
			t.Errorf("period %s: the next renewal is due after %s, want %s", period, got, want)
		}
	}
}

// TestDue: a late renewal does not move the next ones.
func TestDue(t *testing.T) {
	const period = 10 * time.Second
	for _, test := range []struct {
		name, reason string
		due          time.Duration // from now
		random       float64
		want         time.Duration
	}{
		{"in time, at the earliest", "at most once in a period", 0, 0, period},
		{"in time, at the latest", "jitter makes it longer", 0, 1, 11 * time.Second},
		{"a slow request", "it does not delay the next one", -time.Second, 0, 9 * time.Second},
		{"after an outage", "it continues in its own turn", -7 * time.Second, 0.5, 3500 * time.Millisecond},
		{"after an outage of a period", "the missed renewal is not made up for", -period, 0, period},
		{"after a long outage", "many missed renewals are not made up for", -47 * time.Second, 0, 3 * time.Second},
		{"early", "a pause ended before it was due", 3 * time.Second, 1, 3 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			renewer := New(Config{Period: period, Clock: clocktesting.NewFakeClock(start), Random: func() float64 { return test.random }})
			renewer.due = start.Add(test.due)
			if got := renewer.next().Sub(start); got != test.want {
				t.Errorf("%s: the next is due after %s, want %s", test.reason, got, test.want)
			}
		})
	}
}

// TestSlowReport: a report that takes its time does not make the next attempt early, or
// the lease would be renewed twice.
func TestSlowReport(t *testing.T) {
	const period = 2 * time.Second
	clock := clocktesting.NewFakeClock(start)
	renewer := New(Config{Spec: spec, Period: period, Clock: clock, Random: func() float64 { return 0 },
		Client:  clientFunc(func(context.Context) (*coordinationv1.Lease, error) { return &coordinationv1.Lease{}, nil }),
		Healthy: func() error { return nil },
		Renewed: func(error) { clock.Step(period / 2) }})
	renewer.due = start
	wait := renewer.step(t.Context())
	if got := clock.Now().Add(wait); !got.Equal(start.Add(period)) {
		t.Errorf("the next step is at %s, want %s", got, start.Add(period))
	}
}

// TestNonsenseIsRepaired: invalid fields are repaired within one period.
func TestNonsenseIsRepaired(t *testing.T) {
	s := newScene(t)
	s.run()
	s.want("start", s.pass(0), "get", "create")
	lease := s.api.Get("leases", "copies", "helloworld").(*coordinationv1.Lease)
	lease.Spec = coordinationv1.LeaseSpec{LeaseDurationSeconds: ptr.To[int32](-1)}
	s.api.Put("leases", lease)
	s.want("repaired", s.pass(period), "update", "get", "update")
	if got := s.renewed(); !got.Equal(s.clock.Now()) {
		t.Errorf("renewed at %s", got)
	}
	lease = s.api.Get("leases", "copies", "helloworld").(*coordinationv1.Lease)
	if *lease.Spec.LeaseDurationSeconds != 60 || *lease.Spec.HolderIdentity != "pod-1" {
		t.Errorf("not repaired: %+v", lease.Spec)
	}
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
	if s.paused.Load() == 0 || s.results.Load() == nil || *s.results.Load() != nil {
		t.Errorf("Paused was called %d times, Renewed got %v", s.paused.Load(), s.results.Load())
	}
}

// TestProblemBetweenRenewals: a problem is reported before the next renewal is due.
func TestProblemBetweenRenewals(t *testing.T) {
	s := newScene(t)
	s.run()
	s.want("start", s.pass(0), "get", "create")
	s.healthy.Store(false)
	s.want("not healthy", s.pass(checkPeriod))
	if s.paused.Load() == 0 {
		t.Error("Paused was not called")
	}
	s.healthy.Store(true)
	s.want("healthy again", s.pass(healthPeriod), "update")
	s.want("long before the next renewal is due", s.pass(checkPeriod))
}

func TestRenewalBacksOff(t *testing.T) {
	s := newScene(t)
	s.refuse.Store(true)
	s.run()
	requests := len(s.pass(0))
	for range 240 {
		requests += len(s.pass(250 * time.Millisecond))
	}
	// 5 s is the longest wait, of which at least a half is waited.
	if requests < 12 || requests > 30 {
		t.Errorf("%d requests in a minute without an API server", requests)
	}
	if err := s.results.Load(); err == nil || *err == nil {
		t.Error("Renewed did not get the failure")
	}
	s.refuse.Store(false)
	s.want("back", s.pass(5*time.Second), "get", "create")
}

// TestRequestsHaveATimeout: an API server that accepts a request and never answers
// does not block the renewer for ever.
func TestRequestsHaveATimeout(t *testing.T) {
	s := newScene(t)
	var deadline atomic.Bool
	client := clientFunc(func(ctx context.Context) (*coordinationv1.Lease, error) {
		_, ok := ctx.Deadline()
		deadline.Store(ok)
		return nil, apierrors.NewServiceUnavailable("down")
	})
	renewer := New(Config{Spec: spec, Client: client, Clock: s.clock, Healthy: func() error { return nil }})
	for name, request := range map[string]func() error{
		"get":    func() error { _, err := renewer.get(t.Context()); return err },
		"create": func() error { return renewer.create(t.Context()) },
		"update": func() error { return renewer.update(t.Context(), nil) },
	} {
		deadline.Store(false)
		if err := request(); err == nil || !deadline.Load() {
			t.Errorf("%s: error %v, deadline %v", name, err, deadline.Load())
		}
	}
}
