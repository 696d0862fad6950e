package report

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Document is a whole run, for later comparison.
type Document struct {
	Started time.Time `json:"started"`
	Machine Machine   `json:"machine"`
	// Settings are the numbers and times that the run was asked for.
	Settings map[string]string `json:"settings"`
	Rows     []Row             `json:"rows"`
}

// Machine is what the figures depend on beside the programs.
type Machine struct {
	CPUs int `json:"cpus"`
	// Load is the load average of the minute before the first sandbox started:
	// what ran beside the benchmark.
	Load   Number `json:"loadBefore"`
	System string `json:"system"`
	Go     string `json:"go"`
}

// Busy is a warning about a machine that has other things to do: above half a
// runnable process for each processor; empty when there is nothing to say.
func (m Machine) Busy() string {
	if !m.Load.Known() || float64(m.Load) <= float64(m.CPUs)/2 {
		return ""
	}
	return fmt.Sprintf("the machine was busy before the run began (load average %.1f on %d processors): latencies, rates and their ratios say little",
		float64(m.Load), m.CPUs)
}

// JSON writes the document.
func JSON(out io.Writer, document Document) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("write the rows as JSON: %w", err)
	}
	return nil
}
