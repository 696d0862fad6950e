package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror"
)

var (
	configMaps = prometheus.NewDesc(prefix+"configmaps",
		"ConfigMaps on the hub that are to be copied, by state (synced, pending, conflict), and names that cannot be written or removed (failed).",
		[]string{"state"}, nil)
	certificateExpiry = prometheus.NewDesc(prefix+"hub_certificate_expiration_timestamp_seconds",
		"When the client certificate for the hub expires, in seconds since 1970.", nil, nil)
)

// states collects what is asked for when the metrics are read.
type states struct {
	sources Sources
}

// Describe implements prometheus.Collector.
func (s *states) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- configMaps
	descriptions <- certificateExpiry
}

// Collect implements prometheus.Collector.
func (s *states) Collect(metrics chan<- prometheus.Metric) {
	if expiry := s.sources.CertificateExpiry(); !expiry.IsZero() {
		metrics <- prometheus.MustNewConstMetric(certificateExpiry, prometheus.GaugeValue, float64(expiry.Unix()))
	}
	summary := s.sources.Summary()
	if summary == nil {
		return
	}
	for state, count := range map[string]int{
		"synced": summary.Synced, "pending": summary.Pending,
		"conflict": len(summary.Conflicts), "failed": len(summary.Failed),
	} {
		metrics <- prometheus.MustNewConstMetric(configMaps, prometheus.GaugeValue, float64(count), state)
	}
}

func label(kind mirror.Kind) string {
	return strings.ToLower(string(kind))
}
