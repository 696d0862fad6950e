package program

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/runtest"
)

// tick is how finely time passes.
const tick = 10 * time.Millisecond

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// passing runs f while time passes: whenever something waits for it.
func passing(t *testing.T, f func(*clocktesting.FakeClock)) {
	t.Helper()
	clock := clocktesting.NewFakeClock(start)
	runtest.Passing(t, clock, tick, func() { f(clock) })
}

// pause is how long something was waited for, at least, and up to a fifth more
// after a failure.
func pause(t *testing.T, what string, got, least, most time.Duration) {
	t.Helper()
	if got < least || got > most+tick {
		t.Errorf("%s: waited %s, not from %s to %s", what, got, least, most)
	}
}

// TestLoop: who is told what, and how long the loop waits, whatever wakes it.
func TestLoop(t *testing.T) {
	const gap, longest, due = 50 * time.Millisecond, time.Second, 3 * time.Second
	failed := errors.New("away")
	for _, test := range []struct {
		name  string
		awake bool
		turns []error
		// after each turn but the last
		least []time.Duration
		told  []string
	}{
		{name: "nothing wakes it: until the next turn is due", turns: []error{nil, nil, nil}, least: []time.Duration{due, due}},
		{name: "woken: not before the least time between two turns", awake: true, turns: []error{nil, nil, nil}, least: []time.Duration{gap, gap}},
		{name: "failures: longer each time, up to the longest", turns: []error{failed, failed, failed, failed, failed},
			least: []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, longest, longest},
			told:  []string{"failed", "failed again", "failed again", "failed again", "failed again"}},
		{name: "nothing that wakes it shortens the pause after a failure", awake: true, turns: []error{failed, failed, failed},
			least: []time.Duration{250 * time.Millisecond, 500 * time.Millisecond}, told: []string{"failed", "failed again", "failed again"}},
		{name: "told once that it is well, and the next failure is a first one", turns: []error{nil, failed, failed, nil, nil, failed, nil},
			least: []time.Duration{due, 250 * time.Millisecond, 500 * time.Millisecond, due, due, 250 * time.Millisecond},
			told:  []string{"failed", "failed again", "recovered", "failed", "recovered"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			wake := make(chan struct{})
			if test.awake {
				close(wake)
			}
			ctx, end := context.WithCancel(t.Context())
			var told []string
			var at []time.Time
			passing(t, func(clock *clocktesting.FakeClock) {
				Loop{Clock: clock, Wake: wake, Gap: gap, Longest: longest,
					Failed: func(_ error, again bool) {
						told = append(told, map[bool]string{false: "failed", true: "failed again"}[again])
						if len(at) == len(test.turns) {
							end()
						}
					},
					Recovered: func() { told = append(told, "recovered") },
				}.Run(ctx, func(context.Context) (time.Time, error) {
					if len(at) == len(test.turns) {
						end()
						return clock.Now(), nil
					}
					at = append(at, clock.Now())
					return clock.Now().Add(due), test.turns[len(at)-1]
				})
			})
			if diff := cmp.Diff(test.told, told); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
			for i, least := range test.least {
				pause(t, test.name, at[i+1].Sub(at[i]), least, least+least/5)
			}
		})
	}
}

// TestLoopEnds: what a turn returns because the program ends is no failure, and
// no recovery either.
func TestLoopEnds(t *testing.T) {
	for name, last := range map[string]error{"with an error": context.Canceled, "without": nil} {
		t.Run(name, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			var told []string
			turns := 0
			passing(t, func(clock *clocktesting.FakeClock) {
				Loop{Clock: clock, Longest: time.Second,
					Failed:    func(error, bool) { told = append(told, "failed") },
					Recovered: func() { told = append(told, "recovered") },
				}.Run(ctx, func(context.Context) (time.Time, error) {
					if turns++; turns == 1 {
						return clock.Now(), errors.New("away")
					}
					end()
					return clock.Now(), last
				})
			})
			if diff := cmp.Diff([]string{"failed"}, told); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUntilWatched: a kind that is not served, or is forbidden, is looked for now
// and then, a hub that does not answer is asked again soon, and each is told when
// it begins.
func TestUntilWatched(t *testing.T) {
	away := errors.New("away")
	unserved := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Policy"}}
	forbidden := fmt.Errorf("watch: %w", apierrors.NewForbidden(schema.GroupResource{Resource: "policies"}, "", away))
	tries := []error{away, away, unserved, unserved, forbidden, forbidden, away, nil}
	const short, long = time.Second, 15 * time.Second
	least := []time.Duration{short, short, long, long, long, long, short}
	var at []time.Time
	var told []Obstacle
	passing(t, func(clock *clocktesting.FakeClock) {
		if !UntilWatched(t.Context(), clock, func(context.Context) error {
			at = append(at, clock.Now())
			return tries[len(at)-1]
		}, func(_ error, obstacle Obstacle) { told = append(told, obstacle) }) {
			t.Error("not watched")
		}
	})
	if diff := cmp.Diff([]Obstacle{Failed, Unserved, Forbidden, Failed}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	for i, least := range least {
		pause(t, tries[i].Error(), at[i+1].Sub(at[i]), least, least)
	}
}

// TestUntilWatchedEnds: nothing is told of a program that ends, and it does not
// take the kind for watched.
func TestUntilWatchedEnds(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	passing(t, func(clock *clocktesting.FakeClock) {
		if UntilWatched(ctx, clock, func(context.Context) error { end(); return ctx.Err() },
			func(err error, _ Obstacle) { t.Errorf("told of %v", err) }) {
			t.Error("watched")
		}
	})
}
