package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// queueMetrics are those that client-go's workqueues report, under the names
// and with the buckets that Kubernetes' own components give them.
type queueMetrics struct {
	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	latency, duration          *prometheus.HistogramVec
}

func newQueueMetrics() *queueMetrics {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "workqueue_" + name, Help: help}, []string{"name"})
	}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "workqueue_" + name, Help: help}, []string{"name"})
	}
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "workqueue_" + name, Help: help,
			Buckets: prometheus.ExponentialBuckets(10e-9, 10, 10)}, []string{"name"})
	}
	return &queueMetrics{
		depth:      gauge("depth", "Names that wait to be worked on."),
		unfinished: gauge("unfinished_work_seconds", "How long the work that is in progress has taken so far, in all."),
		longest:    gauge("longest_running_processor_seconds", "How long the longest work that is in progress has taken so far."),
		adds:       counter("adds_total", "Names that were added."),
		retries:    counter("retries_total", "Names that were added again after a failure."),
		latency:    histogram("queue_duration_seconds", "How long a name waits before it is worked on."),
		duration:   histogram("work_duration_seconds", "How long the work on a name takes."),
	}
}

func (q *queueMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{q.depth, q.unfinished, q.longest, q.adds, q.retries, q.latency, q.duration}
}

// Describe implements prometheus.Collector.
func (q *queueMetrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, c := range q.all() {
		c.Describe(descriptions)
	}
}

// Collect implements prometheus.Collector.
func (q *queueMetrics) Collect(metrics chan<- prometheus.Metric) {
	for _, c := range q.all() {
		c.Collect(metrics)
	}
}

// Queue provides the metrics of workqueues.
func (m *Metrics) Queue() workqueue.MetricsProvider { return m.queue }

// The methods of workqueue.MetricsProvider, each for the queue of this name.

// NewDepthMetric begins at 0: each connection to the hub has a queue of its own,
// and what was left in the one before does not wait any more.
func (q *queueMetrics) NewDepthMetric(name string) workqueue.GaugeMetric {
	depth := q.depth.WithLabelValues(name)
	depth.Set(0)
	return depth
}

func (q *queueMetrics) NewAddsMetric(name string) workqueue.CounterMetric {
	return q.adds.WithLabelValues(name)
}

func (q *queueMetrics) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return q.latency.WithLabelValues(name)
}

func (q *queueMetrics) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return q.duration.WithLabelValues(name)
}

func (q *queueMetrics) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return q.unfinished.WithLabelValues(name)
}

func (q *queueMetrics) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return q.longest.WithLabelValues(name)
}

func (q *queueMetrics) NewRetriesMetric(name string) workqueue.CounterMetric {
	return q.retries.WithLabelValues(name)
}
