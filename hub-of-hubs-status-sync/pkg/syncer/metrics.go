package syncer

import "github.com/prometheus/client_golang/prometheus"

const namespace, subsystem = "hub_of_hubs", "status_sync"

// The program's metrics. The values of the label kind are those of status.Entries,
// and allKinds.
var (
	lag = prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "lag_seconds", Help: "Time from the change of a row until the object's status was written or found equal.",
		Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}}, []string{"kind"})
	rowsRead = prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "rows_read_total", Help: "Rows read from the database."}, []string{"kind"})
	written = prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "objects_written_total", Help: "Objects created, updated or deleted."}, []string{"kind", "verb"})
	failures = prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "errors_total", Help: "Failed syncs by reason: database, row (a row is invalid), api, conflict (another writer was faster), " +
			"foreign (an object of this name has another owner), tooLarge; and successful writes that undid another writer's change again: " +
			"contested."}, []string{"kind", "reason"})
	available = prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "kind_available", Help: "1 if the global hub serves the kind and its status is synced."}, []string{"kind"})
	shortened = prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "objects_shortened", Help: "Objects with a list that was shortened to fit."}, []string{"kind"})
	propagatorWrites = prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "policy_propagator_writes_status", Help: "1 if a policy propagator in the program's namespace writes the status of policies as well."})
	staleHub = prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "leaf_hub_stale", Help: "1 if the leaf hub's last heartbeat is too old for the interval that its writer states."}, []string{"leaf_hub"})
	beatAge = prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "leaf_hub_heartbeat_age_seconds", Help: "Age of the leaf hub's last heartbeat when the database was last polled."}, []string{"leaf_hub"})
	// changeLog has no label, and no value before the first poll.
	changeLog = prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem,
		Name: "change_log", Help: "1 if the database logs which objects changed; 0 if every object is read periodically, until the " +
			"database is migrated."}, nil)
)

// allKinds is the value of the label kind for failures that concern no single kind.
const allKinds = "all"

var collectors = []prometheus.Collector{lag, rowsRead, written, failures, available, shortened, propagatorWrites, staleHub, beatAge, changeLog}
