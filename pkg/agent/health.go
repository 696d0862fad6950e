package agent

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// check is one thing that has to be right for the agent to do its work.
type check struct {
	name string
	// err returns nil when it is right, or says what is not.
	err func() error
	// detail, where set, says more about what is right.
	detail func() string
}

// firstFailure is the error of the first check that fails, or nil: what comes
// after depends on what comes before.
func firstFailure(checks []check) error {
	for _, c := range checks {
		if err := c.err(); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// healthHandler serves /healthz, which says that the process answers, and
// /readyz, which says in its body how each check went.
func healthHandler(checks []check) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, "ok\n")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		code, body := readiness(checks)
		write(w, code, body)
	})
	return mux
}

func readiness(checks []check) (int, string) {
	var body strings.Builder
	code := http.StatusOK
	for _, c := range checks {
		if err := c.err(); err != nil {
			code = http.StatusServiceUnavailable
			fmt.Fprintf(&body, "[-] %s: %s\n", c.name, err)
			continue
		}
		fmt.Fprintf(&body, "[+] %s: ok", c.name)
		if c.detail != nil {
			fmt.Fprintf(&body, ": %s", c.detail())
		}
		body.WriteByte('\n')
	}
	return code, body.String()
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
