package agent

import (
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/component-base/version"
)

// newRegistry has the metrics of the process and which build it is.
func newRegistry() *prometheus.Registry {
	info := version.Get()
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "helloworld_agent_build_info",
		Help: "The build that runs; the value is always 1.",
		ConstLabels: prometheus.Labels{
			"version": info.GitVersion, "commit": info.GitCommit, "go_version": runtime.Version(),
		},
	}, func() float64 { return 1 })
	registry := prometheus.NewRegistry()
	registry.MustRegister(build,
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

func metricsHandler(registry *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return mux
}
