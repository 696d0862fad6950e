package agent

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
)

// TestTrimIsDue writes the periods as a line: w for one with work, . for one
// without, T for one after which memory is given back.
func TestTrimIsDue(t *testing.T) {
	tests := []struct{ name, periods, want string }{
		{"nothing to give back", ".....", "....."},
		{"after the work, once", "www.....", "wwwT...."},
		{"not again within a minute", "w.w........", "wTw....T..."},
		{"not while there is work", "wwwwwwwwww", "wwwwwwwwww"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			trimmer, now, got := newTrimmer(nil), time.Unix(1000000, 0), ""
			for _, period := range test.periods {
				now = now.Add(trimPeriod)
				mark := string(period)
				if trimmer.due(period == 'w', now) {
					mark = "T"
				}
				got += mark
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTrimmerRuns(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1000000, 0))
	trimmer, trimmed := newTrimmer(clock), make(chan struct{}, 10)
	trimmer.release = func() { trimmed <- struct{}{} }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { trimmer.run(ctx); close(ended) }()
	trimmer.work()
	runtest.Eventually(t, "trimmed", func() bool {
		if clock.HasWaiters() {
			clock.Step(trimPeriod)
		}
		return len(trimmed) > 0
	})
	stop()
	<-ended
}
