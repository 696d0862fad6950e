package sidecar

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/component-base/version"
	"k8s.io/utils/clock"
)

// prefix is that of every metric of the sidecar's own.
const prefix = "klusterlet_addon_lease_"

var (
	sinceRenewal = prometheus.NewDesc(prefix+"seconds_since_renewal",
		"Time since the lease was last renewed; not there before the first time.", nil, nil)
	expiration = prometheus.NewDesc(prefix+"hub_certificate_expiration_timestamp_seconds",
		"When the client certificate for the hub expires, in seconds since 1970; not there without one.", nil, nil)
)

// metrics are the sidecar's metrics.
type metrics struct {
	registry *prometheus.Registry
	clock    clock.PassiveClock
	renewals prometheus.Counter
	failures *prometheus.CounterVec
	last     atomic.Pointer[time.Time]
	expiry   func() time.Time
}

func newMetrics(clock clock.PassiveClock, expiry func() time.Time) *metrics {
	info := version.Get()
	m := &metrics{
		registry: prometheus.NewRegistry(), clock: clock, expiry: expiry,
		renewals: prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + "renewals_total",
			Help: "Renewals of the lease that were successful."}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "renewal_failures_total",
			Help: "Renewals of the lease that failed, by reason."}, []string{"reason"}),
	}
	m.registry.MustRegister(m, m.renewals, m.failures,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: prefix + "build_info",
			Help:        "The build that runs; the value is always 1.",
			ConstLabels: prometheus.Labels{"version": info.GitVersion, "commit": info.GitCommit, "go_version": runtime.Version()},
		}, func() float64 { return 1 }))
	return m
}

func (m *metrics) renewed(now time.Time) {
	m.renewals.Inc()
	m.last.Store(&now)
}

func (m *metrics) failed(reason Reason) { m.failures.WithLabelValues(string(reason)).Inc() }

// Describe implements prometheus.Collector.
func (m *metrics) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- sinceRenewal
	descriptions <- expiration
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(values chan<- prometheus.Metric) {
	if last := m.last.Load(); last != nil {
		values <- prometheus.MustNewConstMetric(sinceRenewal, prometheus.GaugeValue, m.clock.Since(*last).Seconds())
	}
	if expiry := m.expiry(); !expiry.IsZero() {
		values <- prometheus.MustNewConstMetric(expiration, prometheus.GaugeValue, float64(expiry.Unix()))
	}
}
