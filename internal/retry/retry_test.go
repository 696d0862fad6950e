package retry_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"open-cluster-management.io/helloworld-addon/internal/retry"
)

func ExampleDelay() {
	for failures := range 6 {
		fmt.Print(retry.Delay(failures, time.Second, 10*time.Second), " ")
	}
	// Output: 0s 1s 2s 4s 8s 10s
}

func TestDelay(t *testing.T) {
	for name, test := range map[string]struct {
		failures    int
		base, limit time.Duration
		want        time.Duration
	}{
		"no failure does not wait":           {0, time.Second, time.Minute, 0},
		"a limit below the base wins":        {1, time.Second, time.Millisecond, time.Millisecond},
		"a limit between two steps is met":   {3, time.Second, 3 * time.Second, 3 * time.Second},
		"very many failures do not overflow": {math.MaxInt32, time.Second, math.MaxInt64, math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			if got := retry.Delay(test.failures, test.base, test.limit); got != test.want {
				t.Errorf("Delay is %v, want %v", got, test.want)
			}
		})
	}
}

func TestSleep(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	ended, end := context.WithCancel(t.Context())
	end()
	for name, test := range map[string]struct {
		ctx  context.Context
		d    time.Duration
		want bool
	}{
		"a context that has ended ends the sleep":  {ended, time.Hour, false},
		"no time at all with a context that ended": {ended, 0, false},
		"no time at all passes without a timer":    {t.Context(), 0, true},
		"a negative time passes without a timer":   {t.Context(), -time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := retry.Sleep(test.ctx, clock, test.d); got != test.want {
				t.Errorf("Sleep reports %v, want %v", got, test.want)
			}
		})
	}
	slept := make(chan bool)
	go func() { slept <- retry.Sleep(t.Context(), clock, time.Minute) }()
	for !clock.HasWaiters() {
		time.Sleep(time.Millisecond)
	}
	clock.Step(time.Minute)
	if !<-slept {
		t.Error("Sleep reports that the context ended, want that the time passed")
	}
}

func TestSignal(t *testing.T) {
	signal := retry.NewSignal()
	signal.Notify()
	signal.Notify() // merged with the one before, and does not block
	<-signal
	select {
	case <-signal:
		t.Error("two notifications were received, want them merged into one")
	default:
	}
	signal.Notify()
	signal.Clear()
	signal.Clear() // nothing pending: does not block
	select {
	case <-signal:
		t.Error("a cleared notification was received")
	default:
	}
}
