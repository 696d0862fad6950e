// Package metrics holds the agent's Prometheus metrics. Their names follow
// Prometheus' conventions: a prefix, base units, _total for counters.
//
// It serves nothing (package agent does), and it decides nothing.
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

// prefix is that of every metric of the agent's own.
const prefix = "helloworld_agent_"

// syncBuckets are, in seconds, fine around the 12 to 25 ms that a change takes
// when nothing is wrong, and reach to where a person would call it lost.
var syncBuckets = []float64{.005, .01, .02, .03, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

// Metrics are the agent's metrics.
type Metrics struct {
	// Registry has all of them.
	Registry *prometheus.Registry

	clock       clock.PassiveClock
	writes      *prometheus.CounterVec
	latency     prometheus.Histogram
	lastSuccess prometheus.Gauge
	rotations   *prometheus.CounterVec
	queue       *queueMetrics
}

// Sources are what is asked when the metrics are read.
type Sources struct {
	// Summary is that of the mirror, nil while there is none.
	Summary func() *plan.Summary
	// Hub is how things are with the hub's credentials.
	Hub func() credentials.Status
}

// New registers all metrics.
func New(clock clock.PassiveClock, sources Sources) *Metrics {
	m := &Metrics{
		Registry: prometheus.NewRegistry(),
		clock:    clock,
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "writes_total",
			Help: "Writes of ConfigMaps on the managed cluster, by kind (create, update, replace, delete) and result (success, stale, error)."},
			[]string{"kind", "result"}),
		latency: prometheus.NewHistogram(prometheus.HistogramOpts{Name: prefix + "sync_duration_seconds",
			Help: "Time from when a change on the hub was seen until its copy was written.", Buckets: syncBuckets}),
		lastSuccess: prometheus.NewGauge(prometheus.GaugeOpts{Name: prefix + "last_success_timestamp_seconds",
			Help: "When the agent last wrote a copy successfully, in seconds since 1970; 0 before the first time."}),
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

// rotationResults are the changes that are counted.
var rotationResults = []hubclient.Change{hubclient.Connected, hubclient.Rotated, hubclient.Refused}

// HubCredentials counts new credentials.
func (m *Metrics) HubCredentials(change hubclient.Change) {
	if slices.Contains(rotationResults, change) {
		m.rotations.WithLabelValues(string(change)).Inc()
	}
}

// Synced observes a latency; zero is none.
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
