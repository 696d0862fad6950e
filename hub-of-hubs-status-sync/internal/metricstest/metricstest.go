// Package metricstest writes down what a program's metrics look like when they are scraped. The files are what
// test/monitoring lets Prometheus scrape, in place of the programs, which need a database.
package metricstest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// Golden compares the exposition of the collectors with the file, or writes it if update is set. Every vector has to have
// a child, or it is missing. The file has one child of each vector, with the values of a healthy program: 0, and 1 for
// the gauges in ones.
func Golden(t *testing.T, collectors []prometheus.Collector, labels map[string]string, ones []string, file string, update bool) {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors...)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) != len(collectors) {
		t.Fatalf("%d of %d metrics have a value: give the others a child", len(families), len(collectors))
	}
	isOne := map[string]bool{}
	for _, name := range ones {
		isOne[name] = true
	}
	var text bytes.Buffer
	for _, family := range families {
		family.Metric = []*dto.Metric{healthy(family.GetMetric()[0], labels, isOne[family.GetName()])}
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			t.Fatal(err)
		}
	}
	if update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text.String()); diff != "" {
		t.Errorf("%s, which -update writes (-want +got):\n%s", file, diff)
	}
}

// healthy sets the metric's labels and values, so that the other tests of the process do not show.
func healthy(m *dto.Metric, labels map[string]string, one bool) *dto.Metric {
	for _, label := range m.GetLabel() {
		value := labels[label.GetName()]
		label.Value = &value
	}
	value, zero := 0.0, uint64(0)
	if one {
		value = 1
	}
	switch {
	case m.Gauge != nil:
		m.Gauge.Value = &value
	case m.Counter != nil:
		m.Counter = &dto.Counter{Value: &value}
	case m.Histogram != nil:
		m.Histogram.SampleCount, m.Histogram.SampleSum = &zero, &value
		for _, bucket := range m.Histogram.GetBucket() {
			bucket.CumulativeCount = &zero
		}
	}
	return m
}
