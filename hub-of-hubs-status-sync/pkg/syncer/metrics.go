package syncer

import "github.com/prometheus/client_golang/prometheus"

const namespace, subsystem = "hub_of_hubs", "status_sync"

// The program's metrics. Kinds are those of status.Entries.
var (
	lag = prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "lag_seconds", Help: "From when a row changed until its object was right.",
		Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}}, []string{"kind"})
	rowsRead = prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "rows_read_total", Help: "Rows that were read from the database."}, []string{"kind"})
	written = prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "objects_written_total", Help: "Objects that were created, updated or deleted."}, []string{"kind", "verb"})
	failures = prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "errors_total", Help: "Turns that failed, by reason: database, row (it cannot be understood), api, conflict " +
			"(somebody was faster), foreign (an object of the name is somebody else's), tooLarge; and writes that put right, not for the " +
			"first time, what somebody else had changed: contested."}, []string{"kind", "reason"})
	available = prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "kind_available", Help: "1 if the global hub serves the kind and it is kept true."}, []string{"kind"})
	shortened = prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "objects_shortened", Help: "Objects with a list that was shortened, because it would not fit."}, []string{"kind"})
	staleHub = prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "leaf_hub_stale", Help: "1 if the leaf hub's last heartbeat is old."}, []string{"leaf_hub"})
)

// feedKind is the value of the label kind for what is about no kind.
const feedKind = "all"

// collectors are all of them.
var collectors = []prometheus.Collector{lag, rowsRead, written, failures, available, shortened, staleHub}
