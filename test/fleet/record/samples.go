package record

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Percentile returns the smallest sample that at least p percent of the samples do not
// exceed (the nearest rank); p is above 0 and at most 100. There has to be a sample.
func Percentile(samples []time.Duration, p float64) time.Duration {
	sorted := slices.Sorted(slices.Values(samples))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Latencies adds p50, p99 and the last of the samples as figures, in a unit of "s" or
// "ms". want is the number of samples that there should be: fewer add a failure instead
// of the last one, for the rest never came, or a note when they are the rival's.
func (r *Record) Latencies(f Figure, samples []time.Duration, want int) {
	r.latencies(f, samples, want, 99)
}

// Latencies90 is Latencies with p90 in the place of p99, for figures that are compared with such ones.
func (r *Record) Latencies90(f Figure, samples []time.Duration, want int) {
	r.latencies(f, samples, want, 90)
}

func (r *Record) latencies(f Figure, samples []time.Duration, want, high int) {
	unit := time.Second
	if f.Unit == "ms" {
		unit = time.Millisecond
	}
	switch {
	case len(samples) < want && f.Subject == Rival:
		r.Note(f.Step, missing(f, len(samples), want))
	case len(samples) < want:
		r.Fail(f.Step, missing(f, len(samples), want))
	}
	if len(samples) == 0 {
		return
	}
	for _, stat := range []struct {
		name string
		p    int
	}{{P50, 50}, {fmt.Sprintf("p%d", high), high}, {All, 100}} {
		if stat.name == All && len(samples) < want {
			continue
		}
		f.Stat, f.Value = stat.name, float64(Percentile(samples, float64(stat.p)))/float64(unit)
		r.Add(f)
	}
}

func missing(f Figure, got, want int) error {
	return fmt.Errorf("%s of %s: %d of %d clusters", f.Metric, f.Subject, got, want)
}
