// Package record holds the figures of one run of the fleet benchmark, and reads
// and writes them as JSON. It compares a figure with its aim. It measures nothing,
// and it prints no table: see package report.
package record

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// The subjects of a figure.
const (
	// Ours is the add-on of this repository, or the fleet as a whole.
	Ours = "ours"
	// Floor is the least that copying can cost: a bare watch and one write per change.
	Floor = "floor"
	// Rival is addon-framework's own example.
	Rival = "rival"
)

// The stats of a latency.
const (
	P50 = "p50"
	P90 = "p90"
	P99 = "p99"
	// All is the last one.
	All = "all"
)

// Figure is one measured number.
type Figure struct {
	Step   string `json:"step"`
	Metric string `json:"metric"`
	// Stat is which figure of the metric: a percentile, or one of several
	// programs or resources. It is empty where the metric is one number.
	Stat    string  `json:"stat,omitempty"`
	Unit    string  `json:"unit"`
	Subject string  `json:"subject"`
	Value   float64 `json:"value"`
	// Aim is what the figure should be, such as "≤ 12"; Pass reports whether it is.
	// Both are empty for a figure without an aim.
	Aim  string `json:"aim,omitempty"`
	Pass *bool  `json:"pass,omitempty"`
}

// Key is what the figures of several runs have in common.
type Key struct{ Step, Metric, Stat, Unit, Subject string }

// Key returns the figure's.
func (f Figure) Key() Key { return Key{f.Step, f.Metric, f.Stat, f.Unit, f.Subject} }

// Machine is what the figures depend on beside the programs.
type Machine struct {
	CPUs      int     `json:"cpus"`
	MemoryMiB int     `json:"memoryMiB"`
	System    string  `json:"system"`
	Kernel    string  `json:"kernel"`
	Load      float64 `json:"loadBefore"`
}

// Record is one run.
type Record struct {
	// Size is the number of managed clusters.
	Size    int       `json:"size"`
	Started time.Time `json:"started"`
	Machine Machine   `json:"machine"`
	// Versions are those of the programs, by name.
	Versions map[string]string `json:"versions"`
	// Command is the command line of the run.
	Command string `json:"command"`
	// Settings are the times and numbers of the run, by name.
	Settings map[string]string `json:"settings,omitempty"`
	Figures  []Figure          `json:"figures"`
	// Failures are the steps that did not come to their end, and why.
	Failures []string `json:"failures,omitempty"`
	// Notes are the steps that a subject for comparison did not end in time. That is a result.
	Notes []string `json:"notes,omitempty"`
}

// Add adds a figure without an aim. A value that is no number is left out: what was
// not measured has no figure.
func (r *Record) Add(f Figure) {
	if math.IsNaN(f.Value) || math.IsInf(f.Value, 0) {
		return
	}
	if f.Subject == "" {
		f.Subject = Ours
	}
	r.Figures = append(r.Figures, f)
}

// Aim is a limit for a figure.
type Aim struct {
	// Limit is the value, and Least tells that it is the smallest good one. Else it is
	// the largest.
	Limit float64
	Least bool
	// Largest is the largest size for which the aim is stated, and Smallest the
	// smallest one; 0 means that there is no such bound.
	Smallest, Largest int
}

// AtMost returns an aim for runs of every size.
func AtMost(limit float64) Aim { return Aim{Limit: limit} }

// AtLeast returns an aim for runs of every size.
func AtLeast(limit float64) Aim { return Aim{Limit: limit, Least: true} }

// For returns the aim for runs of a range of sizes; 0 means no bound.
func (a Aim) For(smallest, largest int) Aim {
	a.Smallest, a.Largest = smallest, largest
	return a
}

// String is the aim as a table shows it, for example "≤ 12".
func (a Aim) String() string {
	sign := "≤"
	if a.Least {
		sign = "≥"
	}
	return fmt.Sprintf("%s %g", sign, a.Limit)
}

// met reports whether a value reaches the aim.
func (a Aim) met(value float64) bool {
	if a.Least {
		return value >= a.Limit
	}
	return value <= a.Limit
}

// Judge adds a figure with its aim. Outside of the aim's sizes the figure stands alone.
// A value that is no number misses its aim: what has an aim has to be measured.
func (r *Record) Judge(f Figure, aim Aim) {
	if r.Size < aim.Smallest || aim.Largest > 0 && r.Size > aim.Largest {
		r.Add(f)
		return
	}
	if math.IsNaN(f.Value) || math.IsInf(f.Value, 0) {
		r.Fail(f.Step, fmt.Errorf("%s %s was not measured, aim %s %s", f.Metric, f.Stat, aim, f.Unit))
		return
	}
	pass := aim.met(f.Value)
	f.Aim, f.Pass = aim.String(), &pass
	r.Add(f)
}

// Fail records that a step did not come to its end.
func (r *Record) Fail(step string, err error) {
	r.Failures = append(r.Failures, step+": "+err.Error())
}

// Note records that a subject for comparison did not come to a step's end.
func (r *Record) Note(step string, err error) {
	r.Notes = append(r.Notes, step+": "+err.Error())
}

// Requests adds the requests per cluster to enable the add-on: all, and those of each kind. It leaves out the kinds of upkeep.
// The rival has no aim. When no request was counted, they were not measured.
func (r *Record) Requests(f Figure, byKind map[string]float64, upkeep []string, clusters float64) {
	var sum float64
	var kinds []Figure
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		if byKind[kind] > 0 && !slices.Contains(upkeep, kind) {
			sum += byKind[kind] / clusters
			f.Stat, f.Value = kind, byKind[kind]/clusters
			kinds = append(kinds, f)
		}
	}
	f.Stat, f.Value = All, sum
	if sum == 0 {
		f.Value = math.NaN()
	}
	if f.Subject == Rival {
		r.Add(f)
	} else {
		r.Judge(f, AtMost(12))
	}
	for _, kind := range kinds {
		r.Add(kind)
	}
}

// ofMachine are the metrics with an aim that depends on the machine.
var ofMachine = map[string]bool{FleetStart: true, ShippedLag: true, RSS: true}

// Missed returns the failures with the figures that miss their aims, a line each. Figures that depend on
// the machine are apart: a slower machine is no failure.
func (r *Record) Missed() (failures, ofThisMachine []string) {
	failures = slices.Clone(r.Failures)
	for _, f := range r.Figures {
		if f.Pass == nil || *f.Pass {
			continue
		}
		line := strings.Join(strings.Fields(fmt.Sprintf("%s: %s %s of %s is %.4g %s, aim %s", f.Step, f.Metric, f.Stat, f.Subject, f.Value, f.Unit, f.Aim)), " ")
		if ofMachine[f.Metric] {
			ofThisMachine = append(ofThisMachine, line)
		} else {
			failures = append(failures, line)
		}
	}
	return failures, ofThisMachine
}

// Value returns the figure of a key; false when there is none.
func (r *Record) Value(key Key) (float64, bool) {
	for _, f := range r.Figures {
		if f.Key() == key {
			return f.Value, true
		}
	}
	return 0, false
}

// Write writes the record as JSON.
func (r *Record) Write(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("write the run's figures: %w", err)
	}
	return nil
}

// Read reads what Write writes. A field that it does not know is an error: the file is
// then of another version.
func Read(in io.Reader) (*Record, error) {
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	r := &Record{}
	if err := decoder.Decode(r); err != nil {
		return nil, fmt.Errorf("read a run's figures: %w", err)
	}
	if r.Size < 1 {
		return nil, fmt.Errorf("read a run's figures: size %d", r.Size)
	}
	return r, nil
}
