package main

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/klog/v2"
)

// maxStreams is the number of requests at a time in one connection. Go's default of 250 would make
// a client with a few watches per cluster open many connections.
const maxStreams = 1000

// metrics are the program's own metrics.
type metrics struct {
	registry *prometheus.Registry
	clusters prometheus.Gauge
	restarts prometheus.Counter
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		clusters: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ocm_fleet_clusters", Help: "Number of running clusters."}),
		restarts: prometheus.NewCounter(prometheus.CounterOpts{Name: "ocm_fleet_agent_restarts_total",
			Help: "Number of times that the agents of a cluster ended by themselves."}),
	}
	m.registry.MustRegister(m.clusters, m.restarts, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// handler returns what the program serves: the clusters' APIs, metrics and profiles. Each request
// needs the token.
func handler(apis http.Handler, m *metrics, token string) http.Handler {
	own := http.NewServeMux()
	own.Handle("/metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	own.HandleFunc("/debug/pprof/", pprof.Index)
	own.HandleFunc("/debug/pprof/profile", pprof.Profile)
	own.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux := http.NewServeMux()
	mux.Handle("/", apis)
	mux.Handle("/metrics", authenticated(own, token))
	mux.Handle("/debug/", authenticated(own, token))
	return mux
}

// authenticated passes on the requests with the token.
func authenticated(next http.Handler, token string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+token)) != 1 {
			http.Error(w, "the token is missing or wrong", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// serve serves the handler until ctx ends.
func serve(ctx context.Context, f File, handler http.Handler) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.Address)
	if err != nil {
		return fmt.Errorf("listen for the clusters' APIs: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams}}
	stop := context.AfterFunc(ctx, func() {
		if err := server.Close(); err != nil {
			klog.ErrorS(err, "Failed to close the server of the clusters' APIs")
		}
	})
	defer stop()
	err = server.ServeTLS(listener, f.ServingCert, f.ServingKey)
	if ctx.Err() != nil && errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve the clusters' APIs: %w", err)
}
