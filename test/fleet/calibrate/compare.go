package calibrate

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// Phase is a part of the scenario.
type Phase struct {
	Name     string
	From, To time.Time
}

// Idle is the name of the phase in which nothing is done. Its duration is the same for all
// clusters, and leases are compared in it alone: elsewhere their number depends on how long
// a cluster takes.
const Idle = "idle"

// Row is one kind of request of one subject, with its number per cluster.
type Row struct {
	Subject, Request string
	Real, Simulated  float64
	// Phases are those in which the numbers differ, for example "enable 3 / 5".
	Phases []string
	// Known is why the simulated clusters differ, where that is known and the numbers are
	// within what the cause explains.
	Known string
}

// The tolerance: a tenth, and one request per cluster.
const (
	tolerance = 0.1
	always    = 1
)

// OK reports whether the simulated clusters are like the real ones.
func (r Row) OK() bool { return r.within(tolerance) }

func (r Row) within(part float64) bool {
	return math.Abs(r.Simulated-r.Real) <= max(part*r.Real, always)
}

// cell is one kind of request of one subject.
type cell struct{ subject, what string }

// count is the number of requests of a cell by phase.
type count struct{ real, simulated map[string]int }

// Compare returns a row for every kind of request, by subject.
func Compare(requests []Request, phases []Phase, clusters Clusters) []Row {
	counts := map[cell]*count{}
	for _, r := range requests {
		a, ok := clusters.attribute(r)
		phase := phaseOf(r.Time, phases)
		if !ok || phase == "" || strings.HasPrefix(r.Resource, "leases") && phase != Idle {
			continue
		}
		key := cell{a.subject, r.what()}
		if counts[key] == nil {
			counts[key] = &count{map[string]int{}, map[string]int{}}
		}
		if a.simulated {
			counts[key].simulated[phase]++
		} else {
			counts[key].real[phase]++
		}
	}
	var rows []Row
	for key, n := range counts {
		rows = append(rows, row(key, n, phases, clusters))
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Request, b.Request))
	})
	return rows
}

func row(key cell, n *count, phases []Phase, clusters Clusters) Row {
	r := Row{Subject: key.subject, Request: key.what}
	r.Real, r.Simulated = perCluster(sum(n.real), clusters.Real), perCluster(sum(n.simulated), clusters.Simulated)
	if d := known(key); d.why != "" && !r.OK() && (math.IsInf(d.within, 1) || r.within(d.within)) {
		r.Known = d.why
	}
	for _, phase := range phases {
		real, simulated := perCluster(n.real[phase.Name], clusters.Real), perCluster(n.simulated[phase.Name], clusters.Simulated)
		if real != simulated {
			r.Phases = append(r.Phases, phase.Name+" "+number(real)+" / "+number(simulated))
		}
	}
	return r
}

func sum(n map[string]int) int {
	total := 0
	for each := range maps.Values(n) {
		total += each
	}
	return total
}

func perCluster(n int, clusters []string) float64 {
	return float64(n) / float64(max(len(clusters), 1))
}

// phaseOf returns the phase of a moment, empty if it is in none.
func phaseOf(at time.Time, phases []Phase) string {
	for _, phase := range phases {
		if !at.Before(phase.From) && at.Before(phase.To) {
			return phase.Name
		}
	}
	return ""
}
