package figures

import (
	"math"
	"slices"
	"time"
)

// Percentile is the smallest sample that at least p percent of the samples do
// not exceed (the nearest rank, so always one that was measured); p is above 0
// and at most 100. Without samples it is NaN.
func Percentile(samples []time.Duration, p float64) float64 {
	if len(samples) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(samples))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return Milliseconds(sorted[min(max(rank, 1), len(sorted))-1])
}

// Milliseconds with their fraction.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// PerSecond is n things in a time, PerMinute the same in a minute. A time that
// did not pass gives NaN.
func PerSecond(n float64, in time.Duration) float64 {
	if in <= 0 {
		return math.NaN()
	}
	return n / in.Seconds()
}

// PerMinute is PerSecond times 60.
func PerMinute(n float64, in time.Duration) float64 { return 60 * PerSecond(n, in) }

// Slope is the growth from one value to another per unit of what grew from n to
// m; NaN when nothing grew.
func Slope(from, to float64, n, m int) float64 {
	if n == m {
		return math.NaN()
	}
	return (to - from) / float64(m-n)
}
