package sidecar

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-base/version"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/pkg/agent/sidecar/verdict"
)

// reasonRenewing is the reason of the Event that the lease is renewed again.
const reasonRenewing = "LeaseRenewing"

// reporter reports the renewals of the lease by metrics, and by an Event on the pod
// when the reason changes.
type reporter struct {
	clock   clock.PassiveClock
	metrics *metrics
	// event writes an Event on the pod. It returns false if it cannot, because the
	// pod was not read yet.
	event func(kind, reason, message string) bool

	mu sync.Mutex
	// reported is the reason of the last Event.
	reported string
	// lease is why the last renewal failed or was skipped, or nil if it succeeded.
	lease error
}

var errNoRenewalYet = errors.New("not renewed yet")

func newReporter(clock clock.PassiveClock, metrics *metrics, event func(kind, reason, message string) bool) *reporter {
	return &reporter{clock: clock, metrics: metrics, event: event, lease: errNoRenewalYet}
}

// renewed reports the result of an attempt to renew: nil or a *verdict.Cause.
func (r *reporter) renewed(result error) {
	var cause *verdict.Cause
	if errors.As(result, &cause) {
		r.metrics.failures.WithLabelValues(string(cause.Reason)).Inc()
	} else {
		now := r.clock.Now()
		r.metrics.renewals.Inc()
		r.metrics.last.Store(&now)
	}
	r.paused(result)
}

// paused reports why the lease is not renewed, a *verdict.Cause, or nil if it is. It
// writes an Event if the reason differs from the last one.
func (r *reporter) paused(result error) {
	var cause *verdict.Cause
	errors.As(result, &cause)
	kind, reason, message := corev1.EventTypeNormal, reasonRenewing, "the lease is renewed"
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lease = nil
	if cause != nil {
		r.lease = cause
		kind, reason, message = corev1.EventTypeWarning, string(cause.Reason), "the lease is not renewed: "+cause.Message
	}
	if cause != nil && cause.Reason == verdict.Starting || r.reported == reason {
		return
	}
	if r.event(kind, reason, message) {
		r.reported = reason
	}
}

// leaseProblem returns why the lease is not renewed, or nil if it is.
func (r *reporter) leaseProblem() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lease == nil {
		return nil
	}
	return fmt.Errorf("not renewed: %w", r.lease)
}

// prefix begins the name of each of the sidecar's own metrics.
const prefix = "klusterlet_addon_lease_"

var (
	sinceRenewal = prometheus.NewDesc(prefix+"seconds_since_renewal",
		"Time since the lease was last renewed; absent before the first renewal.", nil, nil)
	expiration = prometheus.NewDesc(prefix+"hub_certificate_expiration_timestamp_seconds",
		"When the client certificate for the hub expires, in seconds since 1970; absent without one.", nil, nil)
)

// metrics holds the sidecar's metrics.
type metrics struct {
	registry *prometheus.Registry
	clock    clock.PassiveClock
	renewals prometheus.Counter
	failures *prometheus.CounterVec
	// last is the time of the last renewal, or nil.
	last   atomic.Pointer[time.Time]
	expiry func() time.Time
}

func newMetrics(clock clock.PassiveClock, duration time.Duration, expiry func() time.Time) *metrics {
	info := version.Get()
	m := &metrics{
		registry: prometheus.NewRegistry(), clock: clock, expiry: expiry,
		renewals: prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + "renewals_total",
			Help: "Renewals of the lease that succeeded."}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "renewal_failures_total",
			Help: "Renewals of the lease that failed, by reason."}, []string{"reason"}),
	}
	m.registry.MustRegister(m, m.renewals, m.failures,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: prefix + "duration_seconds",
			Help: "The duration of the lease, which is renewed as often, up to a tenth later.",
		}, duration.Seconds),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: prefix + "build_info",
			Help:        "The build that runs; the value is always 1.",
			ConstLabels: prometheus.Labels{"version": info.GitVersion, "commit": info.GitCommit, "go_version": runtime.Version()},
		}, func() float64 { return 1 }))
	return m
}

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
