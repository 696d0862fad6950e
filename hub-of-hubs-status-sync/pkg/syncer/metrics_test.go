package syncer

import (
	"flag"
	"testing"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/metricstest"
)

var update = flag.Bool("update", false, "write the golden file instead of comparing with it")

// TestMetricsServed: what the program serves is what the alerts and dashboards were tested with.
func TestMetricsServed(t *testing.T) {
	lag.WithLabelValues("Policy")
	rowsRead.WithLabelValues("Policy")
	written.WithLabelValues("Policy", "update")
	failures.WithLabelValues("Policy", "api")
	available.WithLabelValues("Policy")
	shortened.WithLabelValues("Policy")
	staleHub.WithLabelValues("hub1")
	beatAge.WithLabelValues("hub1")
	changeLog.WithLabelValues()
	metricstest.Golden(t, collectors, map[string]string{"kind": "Policy", "verb": "update", "reason": "api", "leaf_hub": "hub1"},
		[]string{"hub_of_hubs_status_sync_kind_available", "hub_of_hubs_status_sync_change_log"}, "testdata/metrics.txt", *update)
}
