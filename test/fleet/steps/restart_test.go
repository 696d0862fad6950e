package steps

import (
	"math"
	"testing"
	"time"
)

func TestLargestRate(t *testing.T) {
	moment := func(seconds float64) time.Time {
		return time.Unix(1000, 0).Add(time.Duration(seconds * float64(time.Second)))
	}
	at := func(seconds, n float64) scraped { return scraped{moment(seconds), moment(seconds), n} }
	for _, c := range []struct {
		name, why string
		samples   []scraped
		want      float64
	}{
		{"a burst", "the peak counts, not the mean", []scraped{at(0, 0), at(1, 10), at(2, 110), at(3, 120)}, 100},
		{"closer samples", "a rate over a quarter of a second is noise", []scraped{at(0, 0), at(0.25, 0), at(0.5, 100), at(0.75, 100), at(1, 100), at(1.25, 100)}, 100},
		{"a late answer", "the rate is over the time between", []scraped{at(0, 0), at(4, 400)}, 100},
		{"a slow answer", "its value may be of any moment in it", []scraped{{moment(0), moment(3), 0}, at(4, 400)}, 100},
		{"the last sample", "the burst may end right before it", []scraped{at(0, 0), at(0.75, 0), at(1, 0), at(1.25, 50)}, 40},
		{"the first sample", "the burst may begin right after it", []scraped{at(0, 0), at(0.25, 50), at(1.25, 50)}, 40},
		{"less than a window", "a small fleet is back within a second", []scraped{at(0, 0), at(0.25, 40), at(0.5, 50)}, 50},
		{"nothing happens", "a zero that was measured", []scraped{at(0, 5), at(1, 5)}, 0},
		{"one sample", "there is nothing to compare it with", []scraped{at(0, 5)}, math.NaN()},
		{"no sample", "the server has not answered", nil, math.NaN()},
	} {
		got := largestRate(c.samples, time.Second)
		if got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s (%s): got %v, want %v", c.name, c.why, got, c.want)
		}
	}
}
