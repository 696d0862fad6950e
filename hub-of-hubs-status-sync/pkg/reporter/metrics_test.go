package reporter

import (
	"flag"
	"testing"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/metricstest"
)

var update = flag.Bool("update", false, "write the golden file instead of comparing with it")

// TestMetricsServed: what the program serves is what the alerts and dashboards were tested with.
func TestMetricsServed(t *testing.T) {
	rows.WithLabelValues("written")
	failures.WithLabelValues("database")
	metricstest.Golden(t, collectors, map[string]string{"change": "written", "reason": "database"}, nil, "testdata/metrics.txt", *update)
}
