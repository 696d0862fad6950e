package figures

import (
	"math"
	"testing"
	"time"
)

func TestPercentile(t *testing.T) {
	hundred := make([]time.Duration, 0, 100)
	for i := 100; i > 0; i-- { // unsorted, as they come
		hundred = append(hundred, time.Duration(i)*time.Millisecond)
	}
	cases := []struct {
		name, why string
		samples   []time.Duration
		p, want   float64
	}{
		{"median", "half of the samples do not exceed the 50th", hundred, 50, 50},
		{"p99", "99 of 100 do not exceed the 99th", hundred, 99, 99},
		{"p100", "the largest", hundred, 100, 100},
		{"rounds up", "99 percent of 50 samples are 49.5, so all 50", hundred[:50], 99, 100},
		{"odd", "the middle one of three", hundred[:3], 50, 99},
		{"one", "every percentile of one sample is that sample", hundred[:1], 1, 100},
		{"none", "there is no figure without samples", nil, 50, math.NaN()},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := Percentile(c.samples, c.p)
			if got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
				t.Errorf("%s: got %v, want %v", c.why, got, c.want)
			}
		})
	}
	if hundred[0] != 100*time.Millisecond {
		t.Error("the samples were reordered")
	}
}

func TestRates(t *testing.T) {
	cases := []struct {
		name, why string
		got, want float64
	}{
		{"per second", "2,000 in 5 s", PerSecond(2000, 5*time.Second), 400},
		{"per minute", "1 in 15 s is 4 in a minute", PerMinute(1, 15*time.Second), 4},
		{"no time", "a rate needs a time", PerSecond(1, 0), math.NaN()},
		{"slope", "4 MB over 4,000", Slope(12e6, 16e6, 1000, 5000), 1000},
		{"no growth", "a slope needs growth", Slope(1, 2, 5, 5), math.NaN()},
	}
	for _, c := range cases {
		if c.got != c.want && !(math.IsNaN(c.got) && math.IsNaN(c.want)) {
			t.Errorf("%s (%s): got %v, want %v", c.name, c.why, c.got, c.want)
		}
	}
}
