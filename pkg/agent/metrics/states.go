package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror/plan"
)

var (
	configMaps = prometheus.NewDesc(prefix+"configmaps",
		"ConfigMaps on the hub to copy, by state (synced, pending, conflict, contested), names that cannot be written or deleted (failed), and copies whose deletion is held (held).",
		[]string{"state"}, nil)
	certificateExpiry = prometheus.NewDesc(prefix+"hub_certificate_expiration_timestamp_seconds",
		"When the client certificate, or token, in use for the hub expires, in seconds since 1970.", nil, nil)
	lastRotation = prometheus.NewDesc(prefix+"hub_credentials_last_rotation_timestamp_seconds",
		"When the credentials in use for the hub came into use, in seconds since 1970.", nil, nil)
	problem = prometheus.NewDesc(prefix+"hub_credentials_problem",
		"1 for the reason why the present credentials for the hub cannot be used; no series if they can.", []string{"reason"}, nil)
)

// states collects the gauges that are computed when the metrics are read.
type states struct {
	sources Sources
}

// Describe implements prometheus.Collector.
func (s *states) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- configMaps
	descriptions <- certificateExpiry
	descriptions <- lastRotation
	descriptions <- problem
}

// Collect implements prometheus.Collector.
func (s *states) Collect(metrics chan<- prometheus.Metric) {
	hub := s.sources.Hub()
	if !hub.NotAfter.IsZero() {
		metrics <- prometheus.MustNewConstMetric(certificateExpiry, prometheus.GaugeValue, float64(hub.NotAfter.Unix()))
	}
	if !hub.Since.IsZero() {
		metrics <- prometheus.MustNewConstMetric(lastRotation, prometheus.GaugeValue, float64(hub.Since.Unix()))
	}
	if hub.Problem != nil {
		metrics <- prometheus.MustNewConstMetric(problem, prometheus.GaugeValue, 1, string(hub.Problem.Reason))
	}
	summary := s.sources.Summary()
	if summary == nil {
		return
	}
	for state, count := range map[string]int{
		"synced": summary.Synced, "pending": summary.Pending,
		"conflict": len(summary.Conflicts), "failed": len(summary.Failed),
		"contested": len(summary.Contested), "held": len(summary.Held),
	} {
		metrics <- prometheus.MustNewConstMetric(configMaps, prometheus.GaugeValue, float64(count), state)
	}
}

func label(kind plan.Kind) string {
	return strings.ToLower(string(kind))
}
