package agent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

func TestTrim(t *testing.T) {
	tests := []struct {
		name, why string
		// work holds the times of work, in seconds since the start.
		work []int
		want []int
	}{
		{"only the start", "the start is work, too", nil, []int{10}},
		{"work", "once after it, not during it", []int{5, 12, 20, 29}, []int{39}},
		{"work again", "once after each period of work", []int{5, 40}, []int{15, 50}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var got []int
				trimmer := newTrimmer(clock.RealClock{}, func() { got = append(got, int(time.Since(start).Seconds())) })
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() { trimmer.run(ctx); close(ended) }()
				for _, at := range test.work {
					time.Sleep(time.Until(start.Add(time.Duration(at) * time.Second)))
					trimmer.worked.Notify()
				}
				time.Sleep(5 * time.Minute)
				stop()
				<-ended
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("%s: trimmed after (-want +got):\n%s", test.why, diff)
				}
			})
		})
	}
}
