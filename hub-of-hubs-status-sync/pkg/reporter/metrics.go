package reporter

import "github.com/prometheus/client_golang/prometheus"

const namespace, subsystem = "hub_of_hubs", "status_report"

// The program's metrics.
var (
	pending = prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "pending_objects", Help: "Objects that changed and are not yet written."})
	batches = prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "batches_total", Help: "Batches that the database took."})
	rows = prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "rows_total", Help: "Rows that were changed: written or removed."}, []string{"change"})
	failures = prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "errors_total", Help: "What failed, by reason: database, object (it cannot be encoded), rejected (the database " +
			"cannot take an entry), heartbeat."}, []string{"reason"})
)

// collectors are all of them.
var collectors = []prometheus.Collector{pending, batches, rows, failures}
