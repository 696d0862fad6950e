// Package scrape reads metrics in Prometheus' text format, as programs of Kubernetes serve
// them. It keeps only the metrics that it is asked for: an API server of a large hub serves
// megabytes. It is pure; who reads the metrics from a program gives it the text.
package scrape

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Sample is one value of a metric.
type Sample struct {
	Labels map[string]string
	Value  float64
}

// Metrics are samples by the metric's name.
type Metrics map[string][]Sample

// Parse reads the metrics of the names. A metric that is not there has no samples: a counter
// with labels appears when it first counts.
func Parse(text []byte, names ...string) (Metrics, error) {
	metrics := Metrics{}
	scanner := bufio.NewScanner(bytes.NewReader(text))
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		line := scanner.Text()
		end := strings.IndexAny(line, "{ ")
		if end < 0 || line[0] == '#' || !slices.Contains(names, line[:end]) {
			continue
		}
		sample, err := parse(line[end:])
		if err != nil {
			return nil, fmt.Errorf("parse the metric %q: %w", line, err)
		}
		metrics[line[:end]] = append(metrics[line[:end]], sample)
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	return metrics, nil
}

// parse reads `{label="value",…} 1.5`, or ` 1.5`.
func parse(rest string) (Sample, error) {
	sample := Sample{Labels: map[string]string{}}
	if strings.HasPrefix(rest, "{") {
		rest = rest[1:]
		for !strings.HasPrefix(rest, "}") {
			name, after, found := strings.Cut(rest, "=")
			if !found {
				return sample, fmt.Errorf("no value of the label %q", rest)
			}
			quoted, err := strconv.QuotedPrefix(after)
			if err != nil {
				return sample, fmt.Errorf("the label %s: %w", name, err)
			}
			if sample.Labels[name], err = strconv.Unquote(quoted); err != nil {
				return sample, fmt.Errorf("the label %s: %w", name, err)
			}
			rest = strings.TrimPrefix(after[len(quoted):], ",")
		}
		rest = rest[1:]
	}
	var err error
	sample.Value, err = strconv.ParseFloat(strings.TrimSpace(rest), 64)
	return sample, err
}

// Sum adds the samples of a metric whose labels have the given values, in pairs of name and
// value: Sum("requests", "verb", "LIST").
func (m Metrics) Sum(name string, labels ...string) float64 {
	var sum float64
	for _, sample := range m[name] {
		if sample.has(labels) {
			sum += sample.Value
		}
	}
	return sum
}

// Value returns the sum of a metric, or NaN when it has no samples.
func (m Metrics) Value(name string) float64 {
	if len(m[name]) == 0 {
		return math.NaN()
	}
	return m.Sum(name)
}

// By adds the samples of a metric by the value of a label.
func (m Metrics) By(label, name string, labels ...string) map[string]float64 {
	sums := map[string]float64{}
	for _, sample := range m[name] {
		if sample.has(labels) {
			sums[sample.Labels[label]] += sample.Value
		}
	}
	return sums
}

func (s Sample) has(labels []string) bool {
	for pair := range slices.Chunk(labels, 2) {
		if len(pair) < 2 || s.Labels[pair[0]] != pair[1] {
			return false
		}
	}
	return true
}
