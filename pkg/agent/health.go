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
// /readyz, which names each check with "ok" or "not ok". Any pod of the cluster
// can read it, so that it has no details.
func healthHandler(checks []check) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, "ok\n")
	})
	mux.HandleFunc("GET /readyz", readyHandler(checks, false))
	return mux
}

func readyHandler(checks []check, details bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		code, body := readiness(checks, details)
		write(w, code, body)
	}
}

// readiness returns the status code and the body of /readyz. The details are the
// errors, and what there is to say about what is right.
func readiness(checks []check, details bool) (int, string) {
	var body strings.Builder
	code := http.StatusOK
	for _, c := range checks {
		err := c.err()
		switch {
		case err != nil && details:
			fmt.Fprintf(&body, "[-] %s: %s\n", c.name, err)
		case err != nil:
			fmt.Fprintf(&body, "[-] %s: not ok\n", c.name)
		case details && c.detail != nil:
			fmt.Fprintf(&body, "[+] %s: ok: %s\n", c.name, c.detail())
		default:
			fmt.Fprintf(&body, "[+] %s: ok\n", c.name)
		}
		if err != nil {
			code = http.StatusServiceUnavailable
		}
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

// loopbackHandler serves /metrics, and /readyz with its details.
func loopbackHandler(registry *prometheus.Registry, checks []check) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /readyz", readyHandler(checks, true))
	return mux
}
