package lease

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
)

// clientFunc answers every request.
type clientFunc func(ctx context.Context) (*coordinationv1.Lease, error)

func (f clientFunc) Get(ctx context.Context, _ string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	return f(ctx)
}

func (f clientFunc) Create(ctx context.Context, _ *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return f(ctx)
}

func (f clientFunc) Update(ctx context.Context, _ *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return f(ctx)
}

// fleet is many renewers on one simulated clock, ordered by when each is due.
type fleet struct {
	clock *clocktesting.FakeClock
	list  []*due
	// away makes the API server unreachable.
	away bool
	// attempts are counted by the second since the start, renewals apart.
	attempts, renewals map[int]int
}

type due struct {
	at      time.Time
	renewer *Renewer
}

func (f *fleet) Len() int           { return len(f.list) }
func (f *fleet) Less(i, j int) bool { return f.list[i].at.Before(f.list[j].at) }
func (f *fleet) Swap(i, j int)      { f.list[i], f.list[j] = f.list[j], f.list[i] }
func (f *fleet) Push(x any)         { f.list = append(f.list, x.(*due)) }
func (f *fleet) Pop() any {
	last := f.list[len(f.list)-1]
	f.list = f.list[:len(f.list)-1]
	return last
}

// newFleet has renewers of one period that are all due in the same instant.
func newFleet(size int, period time.Duration) *fleet {
	f := &fleet{clock: clocktesting.NewFakeClock(start), attempts: map[int]int{}, renewals: map[int]int{}}
	random := rand.New(rand.NewPCG(1, 2))
	client := clientFunc(func(context.Context) (*coordinationv1.Lease, error) {
		if f.away {
			return nil, errors.New("connection refused")
		}
		return &coordinationv1.Lease{}, nil
	})
	for range size {
		f.list = append(f.list, &due{at: start, renewer: New(Config{Spec: spec, Period: period, Client: client, Clock: f.clock,
			Random: random.Float64, Healthy: func() error { return nil },
			Renewed: func(err error) {
				f.attempts[f.second()]++
				if err == nil {
					f.renewals[f.second()]++
				}
			}})})
	}
	return f
}

func (f *fleet) second() int { return int(f.clock.Since(start) / time.Second) }

// run moves the clock from one renewer to the next.
func (f *fleet) run(ctx context.Context, until time.Duration) {
	for f.list[0].at.Sub(start) < until {
		next := f.list[0]
		f.clock.SetTime(next.at)
		next.renewer.step(ctx)
		// The health checks in between change nothing.
		next.at = next.renewer.attempt
		heap.Fix(f, 0)
	}
}

// spread returns the mean number of renewals per second in the seconds from up to, but
// not including, to, and the highest mean of as many seconds as window in them.
func (f *fleet) spread(from, to, window int) (mean, highest float64) {
	total, inWindow := 0, 0
	for second := from; second < to; second++ {
		total += f.renewals[second]
		inWindow += f.renewals[second]
		if second-from >= window {
			inWindow -= f.renewals[second-window]
		}
		if second-from >= window-1 {
			highest = max(highest, float64(inWindow)/float64(window))
		}
	}
	return float64(total) / float64(to-from), highest
}

// TestManyRenewersSpreadEvenly: renewers that all start in the same moment spread their
// renewals over the period, also after an outage.
func TestManyRenewersSpreadEvenly(t *testing.T) {
	for _, test := range []struct {
		name         string
		size, period int
		// window is the time, in seconds, in which renewals are counted. Within a
		// second chance alone makes a peak.
		window int
		// limit is the peak that is allowed, in times of the average.
		limit float64
	}{
		{"the agents of 10,000 clusters", 10_000, 15, 1, 1.25},
		{"the lease sidecars of 5,000 clusters on one hub", 5_000, 60, 10, 1.15},
	} {
		t.Run(test.name, func(t *testing.T) {
			period := time.Duration(test.period) * time.Second
			f := newFleet(test.size, period)
			now := 0
			pass := func(seconds int) (from int) {
				from, now = now, now+seconds
				f.run(t.Context(), time.Duration(now)*time.Second)
				return from
			}
			check := func(when string, from, to int) {
				mean, highest := f.spread(from, to, test.window)
				t.Logf("%d renewers, period %s, %s: %.1f renewals per second on average, at most %.1f in %d s: ratio %.2f",
					test.size, period, when, mean, highest, test.window, highest/mean)
				if promised := float64(test.size) / period.Seconds(); mean > promised {
					t.Errorf("%s: %.1f renewals per second, want %.1f at most", when, mean, promised)
				}
				if highest > test.limit*mean {
					t.Errorf("%s: at most %.2f times the average, want %.2f at most", when, highest/mean, test.limit)
				}
			}
			pass(6 * test.period)
			check("from one period after they all started in one instant", test.period+1, now)

			for _, outage := range []int{test.period / 2, test.period, 5 * test.period} {
				f.away = true
				worst, from := 0, pass(outage)
				f.away = false
				back := pass(6 * test.period)
				// The last ones try again a third of a period after the return.
				check(fmt.Sprintf("after the API server was away for %d s", outage), back+test.period/3+1, now)
				for second := from; second < now; second++ {
					worst = max(worst, f.attempts[second])
				}
				t.Logf("attempts in the worst second of the outage and the return: %d", worst)
				if worst > test.size/2 {
					t.Errorf("%d attempts within one second", worst)
				}
			}
		})
	}
}
