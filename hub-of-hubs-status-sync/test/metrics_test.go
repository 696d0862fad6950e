//go:build postgres

package hubofhubs

import (
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// metric is the value of one of the sync's metrics in this process; of a histogram
// it is the count.
func (w *world) metric(name string, labels map[string]string) float64 {
	w.Helper()
	value, _ := w.metricAndSum(name, labels)
	return value
}

// metricAndSum also returns a histogram's sum.
func (w *world) metricAndSum(name string, labels map[string]string) (value, sum float64) {
	w.Helper()
	families, err := metrics.Registry.Gather()
	w.must(err)
	for _, family := range families {
		if family.GetName() != "hub_of_hubs_status_sync_"+name {
			continue
		}
		for _, metric := range family.GetMetric() {
			found := 0
			for _, label := range metric.GetLabel() {
				if labels[label.GetName()] == label.GetValue() {
					found++
				}
			}
			if found == len(labels) {
				return metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount()),
					metric.GetHistogram().GetSampleSum()
			}
		}
	}
	return 0, 0
}

// TestMetrics: what one changed row is counted as.
func TestMetrics(t *testing.T) {
	w := newWorld(t)
	id := w.policy("policy")
	w.comply(id, "hub1", "a", "compliant")
	w.comply(id, "hub2", "b", "compliant")
	n := &noting{}
	w.syncNoting(n)
	w.converge()
	w.quiet(n)
	kind := map[string]string{"kind": string(status.KindPolicy)}
	update := map[string]string{"kind": string(status.KindPolicy), "verb": "update"}
	read, written := w.metric("rows_read_total", kind), w.metric("objects_written_total", update)
	lag, lagSum := w.metricAndSum("lag_seconds", kind)
	w.comply(id, "hub1", "a", "unknown")
	w.converge()
	w.quiet(n)
	for name, c := range map[string]struct{ got, want float64 }{
		"rows read":         {w.metric("rows_read_total", kind) - read, 2},
		"objects written":   {w.metric("objects_written_total", update) - written, 1},
		"lags":              {w.metric("lag_seconds", kind) - lag, 1},
		"kind is available": {w.metric("kind_available", kind), 1},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, not %v", name, c.got, c.want)
		}
	}
	if _, sum := w.metricAndSum("lag_seconds", kind); sum-lagSum > patience.Seconds() {
		t.Errorf("the lag is %g s", sum-lagSum)
	}
	w.beat("hub1", time.Hour)
	w.beat("hub2", 0)
	w.exec("INSERT INTO status.leaf_hub_heartbeats (leaf_hub_name, last_timestamp) VALUES ('bridge', now() AT TIME ZONE 'UTC' - interval '59 minutes')")
	w.eventually("hub1 is stale, hub2 is not, nor is one whose writer states no interval", func() error {
		one, two := w.metric("leaf_hub_stale", map[string]string{"leaf_hub": "hub1"}), w.metric("leaf_hub_stale", map[string]string{"leaf_hub": "hub2"})
		bridge := w.metric("leaf_hub_stale", map[string]string{"leaf_hub": "bridge"})
		age := w.metric("leaf_hub_heartbeat_age_seconds", map[string]string{"leaf_hub": "bridge"})
		if one != 1 || two != 0 || bridge != 0 || age < 59*60 || age > 59*60+patience.Seconds() {
			return fmt.Errorf("stale: %v, %v and %v, which is %v s old", one, two, bridge, age)
		}
		return nil
	})
}
