package report

import (
	"encoding/json"
	"fmt"
	"math"
)

// The subjects, in the order of the table.
const (
	Floor = "floor"
	Ours  = "ours"
	Rival = "rival"
)

// Subjects are all of them.
var Subjects = []string{Floor, Ours, Rival}

// Number is a figure that may be missing (NaN): null in JSON.
type Number float64

// Missing is the number of something that did not happen.
func Missing() Number { return Number(math.NaN()) }

// Known reports whether there is a figure.
func (n Number) Known() bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// MarshalJSON writes a missing number as null.
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.Known() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Number) UnmarshalJSON(content []byte) error {
	if string(content) == "null" {
		*n = Missing()
		return nil
	}
	var value float64
	if err := json.Unmarshal(content, &value); err != nil {
		return fmt.Errorf("a figure: %w", err)
	}
	*n = Number(value)
	return nil
}

// Row is one figure of one subject.
type Row struct {
	Subject string `json:"subject"`
	// Metric is what was measured, Setting in which situation, Stat which figure
	// of it: "change latency", "300 changes", "p50".
	Metric  string `json:"metric"`
	Setting string `json:"setting,omitempty"`
	Stat    string `json:"stat,omitempty"`
	Unit    string `json:"unit"`
	Value   Number `json:"value"`
	// Note says what the figure alone does not: how far it got, why it is missing.
	Note string `json:"note,omitempty"`
}

// key is what the subjects' rows have in common.
type key struct{ metric, setting, stat, unit string }

func (r Row) key() key { return key{r.Metric, r.Setting, r.Stat, r.Unit} }
