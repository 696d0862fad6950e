package httpserver_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"open-cluster-management.io/helloworld-addon/pkg/agent/httpserver"
)

func TestReadyz(t *testing.T) {
	passes := func() error { return nil }
	fails := func() error { return errors.New("no route to host") }
	detail := func() string { return "connected to https://hub" }
	tests := []struct {
		name, reason string
		checks       []httpserver.Check
		details      bool
		code         int
		body         string
	}{
		{"passes", "", []httpserver.Check{{Name: "hub", Err: passes, Detail: detail}}, true,
			http.StatusOK, "[+] hub: ok: connected to https://hub\n"},
		{"passes without details", "the network must not learn the hub's address",
			[]httpserver.Check{{Name: "hub", Err: passes, Detail: detail}}, false, http.StatusOK, "[+] hub: ok\n"},
		{"fails", "one failure makes the program unready",
			[]httpserver.Check{{Name: "hub", Err: fails}, {Name: "mirror", Err: passes}}, true,
			http.StatusServiceUnavailable, "[-] hub: no route to host\n[+] mirror: ok\n"},
		{"fails without details", "", []httpserver.Check{{Name: "hub", Err: fails}}, false,
			http.StatusServiceUnavailable, "[-] hub: not ok\n"},
		{"information", "an unreachable hub is no reason to remove a pod from its Services",
			[]httpserver.Check{{Name: "lease", Err: fails, Info: true}}, true, http.StatusOK, "[!] lease: no route to host\n"},
		{"information that is good", "", []httpserver.Check{{Name: "lease", Err: passes, Passed: "renewed", Info: true}}, true,
			http.StatusOK, "[+] lease: renewed\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			code, body := get(t, httpserver.HealthHandler(test.checks, test.details), "/readyz")
			if code != test.code || body != test.body {
				t.Errorf("got %d %q, want %d %q; %s", code, body, test.code, test.body, test.reason)
			}
			if code, body := get(t, httpserver.HealthHandler(test.checks, test.details), "/healthz"); code != http.StatusOK || body != "ok\n" {
				t.Errorf("healthz: %d %q, want that it does not depend on the checks", code, body)
			}
		})
	}
}

func TestMetricsHandler(t *testing.T) {
	checks := []httpserver.Check{{Name: "hub", Err: func() error { return errors.New("detail") }}}
	if _, body := get(t, httpserver.MetricsHandler(prometheus.NewRegistry(), checks), "/readyz"); body != "[-] hub: detail\n" {
		t.Errorf("readyz: %q, want the details", body)
	}
	if code, _ := get(t, httpserver.MetricsHandler(prometheus.NewRegistry(), nil), "/readyz"); code != http.StatusNotFound {
		t.Errorf("readyz without checks: %d", code)
	}
	if code, _ := get(t, httpserver.MetricsHandler(prometheus.NewRegistry(), nil), "/metrics"); code != http.StatusOK {
		t.Errorf("metrics: %d", code)
	}
}

func get(t *testing.T, handler http.Handler, path string) (code int, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}
