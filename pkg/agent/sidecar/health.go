package sidecar

import (
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// healthHandler serves /healthz, which says that the process answers, and
// /readyz, which is not ok until there are usable credentials for the hub. What
// else keeps the lease from being renewed is in its body for people, and changes
// nothing: a hub that is away is no reason to take a pod out of its Services,
// and a pod's readiness must not depend on itself.
func healthHandler(credentials, lease func() error) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, "ok\n")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		code, body := http.StatusOK, "[+] hub-credentials: ok\n"
		if err := credentials(); err != nil {
			code, body = http.StatusServiceUnavailable, fmt.Sprintf("[-] hub-credentials: %s\n", err)
		}
		if err := lease(); err != nil {
			body += fmt.Sprintf("[!] lease: not renewed: %s\n", err)
		} else {
			body += "[+] lease: renewed\n"
		}
		write(w, code, body)
	})
	return mux
}

func write(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	// The client went away: there is nobody to tell.
	_, _ = w.Write([]byte(body))
}

func metricsHandler(registry *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return mux
}
