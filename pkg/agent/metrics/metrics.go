// Package metrics holds the agent's Prometheus metrics. Their names follow the
// conventions of Prometheus (https://prometheus.io/docs/practices/naming/): a prefix,
// base units, _total for counters. Package httpserver serves them.
package metrics

import (
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/component-base/version"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient"
	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient/credentials"
	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror"
	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror/plan"
)

// prefix begins the name of every metric that this package defines.
const prefix = "helloworld_agent_"

// syncBuckets are in seconds. They are fine around the 12 to 25 ms that a change
// usually takes, and reach up to 5 minutes.
var syncBuckets = []float64{.005, .01, .02, .03, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

// Metrics are the agent's metrics.
type Metrics struct {
	// Registry contains all metrics.
	Registry *prometheus.Registry

	clock       clock.PassiveClock
	writes      *prometheus.CounterVec
	latency     prometheus.Histogram
	lastSuccess prometheus.Gauge
	rotations   *prometheus.CounterVec
	queue       *queueMetrics
}

// Sources are called when the metrics are read.
type Sources struct {
	// Summary returns the mirror's summary, nil before both sides are listed.
	Summary func() *plan.Summary
	// Hub returns the status of the hub's credentials.
	Hub func() credentials.Status
}

// New returns the metrics, all registered.
func New(clock clock.PassiveClock, sources Sources) *Metrics {
	m := &Metrics{
		Registry: prometheus.NewRegistry(),
		clock:    clock,
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "writes_total",
			Help: "Writes of ConfigMaps on the managed cluster, by kind (create, update, replace, delete) and result (success, stale, error)."},
			[]string{"kind", "result"}),
		latency: prometheus.NewHistogram(prometheus.HistogramOpts{Name: prefix + "sync_duration_seconds",
			Help: "Time from when the agent received a change on the hub until its copy was written.", Buckets: syncBuckets}),
		lastSuccess: prometheus.NewGauge(prometheus.GaugeOpts{Name: prefix + "last_success_timestamp_seconds",
			Help: "Time of the last successful write of a copy, in seconds since 1970; 0 before the first one."}),
		rotations: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "hub_credentials_rotations_total",
			Help: "New credentials for the hub, by result (connected: used for the first time or for another hub, rotated: used after a renewal for the same hub, refused: not usable)."},
			[]string{"result"}),
		queue: newQueueMetrics(),
	}
	for _, change := range rotationResults {
		m.rotations.WithLabelValues(string(change))
	}
	m.Registry.MustRegister(buildInfo(), m.writes, m.latency, m.lastSuccess, m.rotations, m.queue, &states{sources: sources},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Wrote counts a write.
func (m *Metrics) Wrote(kind plan.Kind, result mirror.Result) {
	m.writes.WithLabelValues(label(kind), string(result)).Inc()
	if result == mirror.Success {
		m.lastSuccess.Set(float64(m.clock.Now().UnixNano()) / float64(time.Second))
	}
}

// rotationResults are the changes that HubCredentials counts.
var rotationResults = []hubclient.Change{hubclient.Connected, hubclient.Rotated, hubclient.Refused}

// HubCredentials counts a change of the hub's credentials.
func (m *Metrics) HubCredentials(change hubclient.Change) {
	if slices.Contains(rotationResults, change) {
		m.rotations.WithLabelValues(string(change)).Inc()
	}
}

// Synced observes the latency of a copy. Zero means that it is not known.
func (m *Metrics) Synced(latency time.Duration) {
	if latency > 0 {
		m.latency.Observe(latency.Seconds())
	}
}

func buildInfo() prometheus.Collector {
	info := version.Get()
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: prefix + "build_info",
		Help: "The build that runs; the value is always 1.",
		ConstLabels: prometheus.Labels{
			"version": info.GitVersion, "commit": info.GitCommit, "go_version": runtime.Version(),
		},
	}, func() float64 { return 1 })
}
