package requests

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// dispatched is the API server's counter of requests by FlowSchema.
const dispatched = "apiserver_flowcontrol_dispatched_requests_total"

// Counts are the requests of each kind since the API server started.
type Counts map[Kind]float64

// Since is what came after an earlier count.
func (c Counts) Since(earlier Counts) Counts {
	difference := Counts{}
	for _, k := range kinds {
		difference[k.kind] = c[k.kind] - earlier[k.kind]
	}
	return difference
}

// parse finds a program's counters in the metrics of an API server. A kind that
// was never asked for has no counter yet: it is zero.
func parse(metrics []byte, program string) (Counts, error) {
	// an API server tells megabytes about itself; only a few lines are parsed
	var relevant bytes.Buffer
	relevant.WriteString("# TYPE " + dispatched + " counter\n")
	scanner := bufio.NewScanner(bytes.NewReader(metrics))
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		if line := scanner.Text(); strings.HasPrefix(line, dispatched+"{") {
			relevant.WriteString(line + "\n")
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("read the metrics of an API server: %w", err)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(&relevant)
	if err != nil {
		return nil, fmt.Errorf("parse the metrics of an API server: %w", err)
	}
	counts := Counts{}
	for _, metric := range families[dispatched].GetMetric() {
		for _, label := range metric.GetLabel() {
			for _, k := range kinds {
				if label.GetName() == "flow_schema" && label.GetValue() == schemaName(program, k.kind) {
					counts[k.kind] += metric.GetCounter().GetValue()
				}
			}
		}
	}
	return counts, nil
}
