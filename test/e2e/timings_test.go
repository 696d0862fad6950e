//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// timings are printed at the end of a run. They are measured, never asserted.
var timings recorder

type timing struct {
	name     string
	duration time.Duration
}

type recorder struct {
	mu   sync.Mutex
	list []timing
}

func (r *recorder) record(name string, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, timing{name: name, duration: d})
}

func (r *recorder) print(w io.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) == 0 {
		return
	}
	fmt.Fprintln(w, "\nmeasured:")
	for _, entry := range r.list {
		fmt.Fprintf(w, "  %10s  %s%s\n", entry.duration.Round(time.Millisecond), entry.name, aimOf(entry.name))
	}
}

// aims are what a quiet machine should reach, on kind too, by how a timing's
// name ends.
var aims = map[string]string{
	"→ first copy":                    "15 s",
	"→ condition Available":           "30 s after the lease's first renewal",
	"disable → nothing left":          "20 s",
	"change → copy, median of 30":     "50 ms",
	"agent's Deployment available":    "20 s",
	"controller deleted → new leader": "5 s",
}

func aimOf(name string) string {
	for end, aim := range aims {
		if strings.HasSuffix(name, end) {
			return "  (aim: " + aim + ")"
		}
	}
	return ""
}

// percentile of the durations, by the nearest rank; p is in (0, 100].
func percentile(durations []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(durations))
	rank := (len(sorted)*p + 99) / 100
	return sorted[rank-1]
}
