package measure

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTurns(t *testing.T) {
	tests := []struct {
		name, why string
		install   [3]int // seconds
		fails     int    // the subject that fails after its installation; none is -1
		want      int    // subjects in a cycle
	}{
		{"alternate", "each has a round, then the next", [3]int{1, 2, 3}, -1, 3},
		{"one is late", "all begin when the last one is installed", [3]int{1, 9, 2}, -1, 3},
		{"one fails", "the others go on", [3]int{1, 3, 2}, 2, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got strings.Builder
				var running sync.WaitGroup
				for i, turn := range newTurns(3) {
					running.Go(func() {
						defer turn.end()
						time.Sleep(time.Duration(test.install[i]) * time.Second)
						if i == test.fails {
							return
						}
						if err := turn.begin(t.Context()); err != nil {
							t.Error(err)
							return
						}
						for range 3 {
							got.WriteByte("abc"[i])
							time.Sleep(time.Millisecond)
							if err := turn.pass(t.Context()); err != nil {
								t.Error(err)
							}
						}
					})
				}
				running.Wait()
				cycle := got.String()[:test.want]
				if diff := cmp.Diff(strings.Repeat(cycle, 3), got.String()); diff != "" {
					t.Errorf("%s (-want +got):\n%s", test.why, diff)
				}
				for _, subject := range cycle {
					if strings.Count(cycle, string(subject)) > 1 {
						t.Errorf("%s: one had two rounds in a cycle: %s", test.why, cycle)
					}
				}
			})
		})
	}
}

// TestTurnIsInterrupted: a subject that waits for its turn ends with the run.
func TestTurnIsInterrupted(t *testing.T) {
	turns := newTurns(2)
	turns[1].end()
	if err := turns[0].begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := turns[1].begin(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	turns[1].end() // gives nothing back that it does not have
	if turns[1].working.TryAcquire(1) {
		t.Error("two have the turn at once")
	}
}
