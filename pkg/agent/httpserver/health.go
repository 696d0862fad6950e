package httpserver

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Check is one condition for a program to do its work.
type Check struct {
	Name string
	// Err returns why the check fails, or nil.
	Err func() error
	// Detail, if set, describes a check that passes.
	Detail func() string
	// Passed is the word for a check that passes, "ok" if it is empty.
	Passed string
	// Info only shows the check: a failure does not make the program unready.
	Info bool
}

// FirstFailure returns the error of the first check that fails, or nil. Later checks
// depend on earlier ones.
func FirstFailure(checks []Check) error {
	for _, c := range checks {
		if err := c.Err(); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return nil
}

// HealthHandler serves /healthz, which succeeds while the process answers, and
// /readyz, which has a line for each check. Details adds the errors and details of
// the checks: leave them out where every pod of the cluster can read the answer.
func HealthHandler(checks []Check, details bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, "ok\n")
	})
	handleReady(mux, checks, details)
	return mux
}

// MetricsHandler serves /metrics and, if there are checks, /readyz with details.
func MetricsHandler(metrics prometheus.Gatherer, checks []Check) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	if len(checks) > 0 {
		handleReady(mux, checks, true)
	}
	return mux
}

func handleReady(mux *http.ServeMux, checks []Check, details bool) {
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		code, body := http.StatusOK, strings.Builder{}
		for _, c := range checks {
			line, failed := c.line(details)
			body.WriteString(line)
			if failed && !c.Info {
				code = http.StatusServiceUnavailable
			}
		}
		write(w, code, body.String())
	})
}

// line returns the line of the check in /readyz, and whether it fails.
func (c Check) line(details bool) (line string, failed bool) {
	if err := c.Err(); err != nil {
		sign, text := "-", "not ok"
		if c.Info {
			sign = "!"
		}
		if details {
			text = err.Error()
		}
		return fmt.Sprintf("[%s] %s: %s\n", sign, c.Name, text), true
	}
	passed := c.Passed
	if passed == "" {
		passed = "ok"
	}
	if details && c.Detail != nil {
		passed += ": " + c.Detail()
	}
	return fmt.Sprintf("[+] %s: %s\n", c.Name, passed), false
}

func write(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	// An error means that the client has disconnected.
	_, _ = w.Write([]byte(body))
}
