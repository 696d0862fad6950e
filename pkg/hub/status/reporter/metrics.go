package reporter

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

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

// register adds the metrics to those that the manager serves; a second time in
// one process changes nothing.
func register(registry prometheus.Registerer) error {
	for _, collector := range []prometheus.Collector{pending, batches, rows, failures} {
		var already prometheus.AlreadyRegisteredError
		if err := registry.Register(collector); err != nil && !errors.As(err, &already) {
			return fmt.Errorf("register the metrics: %w", err)
		}
	}
	return nil
}
