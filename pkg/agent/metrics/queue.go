package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// queueMetrics are the metrics of client-go's workqueues, with the names and buckets of
// Kubernetes' components.
//
// k8s.io/component-base/metrics/prometheus/workqueue registers the same ones. It is not
// used: it registers them in a registry of the process when it is imported, and its
// depth keeps the names that were left in a queue that has ended.
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
		depth:      gauge("depth", "Names that wait to be processed."),
		unfinished: gauge("unfinished_work_seconds", "Sum of the time that the names in progress have taken so far."),
		longest:    gauge("longest_running_processor_seconds", "Time that the longest name in progress has taken so far."),
		adds:       counter("adds_total", "Names that were added."),
		retries:    counter("retries_total", "Names that were added again after a failure."),
		latency:    histogram("queue_duration_seconds", "How long a name waits before it is processed."),
		duration:   histogram("work_duration_seconds", "How long processing a name takes."),
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

// Queue returns the provider of the metrics of workqueues.
func (m *Metrics) Queue() workqueue.MetricsProvider { return m.queue }

// The methods of workqueue.MetricsProvider return the metric of the queue with this
// name.

// NewDepthMetric returns a metric that begins at 0. Each connection to the hub has a
// queue of its own, and the names left in the previous queue no longer wait.
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
