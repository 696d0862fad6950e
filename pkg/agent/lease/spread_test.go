package lease

import (
	"container/heap"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
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

// newFleet has all renewers due in the same instant.
func newFleet(size int) *fleet {
	f := &fleet{clock: clocktesting.NewFakeClock(start), attempts: map[int]int{}, renewals: map[int]int{}}
	random := rand.New(rand.NewPCG(1, 2))
	client := clientFunc(func(context.Context) (*coordinationv1.Lease, error) {
		if f.away {
			return nil, errors.New("connection refused")
		}
		return &coordinationv1.Lease{}, nil
	})
	for range size {
		f.list = append(f.list, &due{at: start, renewer: New(Config{Spec: spec, Client: client, Clock: f.clock,
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
		next.at = next.at.Add(next.renewer.step(ctx))
		heap.Fix(f, 0)
	}
}

// spread returns the mean and the highest number of renewals per second in the
// seconds from up to, but not including, to.
func (f *fleet) spread(from, to int) (mean, highest float64) {
	var counts []int
	total := 0
	for second := from; second < to; second++ {
		counts = append(counts, f.renewals[second])
		total += f.renewals[second]
	}
	return float64(total) / float64(to-from), float64(slices.Max(counts))
}

// TestManyRenewersSpreadEvenly: 10,000 renewers that all start in the same moment
// spread their renewals over the period, also after an outage of a minute.
func TestManyRenewersSpreadEvenly(t *testing.T) {
	const (
		size   = 10_000
		period = 15 // seconds
		outage = 4 * period
		// The peak that chance alone makes of 700 renewals per second on average.
		limit = 1.25
	)
	f := newFleet(size)
	f.run(t.Context(), 20*period*time.Second)
	check := func(when string, from, to int) {
		mean, highest := f.spread(from, to)
		t.Logf("%d renewers, period %d s, %s: %.0f renewals per second on average, at most %.0f: ratio %.2f",
			size, period, when, mean, highest, highest/mean)
		if highest > limit*mean {
			t.Errorf("%s: at most %.2f times the average, want %.2f at most", when, highest/mean, limit)
		}
	}
	check("from one period after they all started in one instant", period+1, 20*period)

	f.away = true
	f.run(t.Context(), (20*period+outage)*time.Second)
	f.away = false
	back := 20*period + outage
	f.run(t.Context(), time.Duration(back+20*period)*time.Second)
	check("from one period after the API server was away for a minute", back+period+5, back+20*period)
	highest := 0
	for second := back - outage; second < back+period; second++ {
		highest = max(highest, f.attempts[second])
	}
	t.Logf("attempts in the worst second of the outage and the return: %d", highest)
	if highest > size/2 {
		t.Errorf("%d attempts within one second", highest)
	}
}
