//go:build kind

package pods

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// readerOfMetrics is an account that may get /metrics.
const readerOfMetrics = "hub-of-hubs-metrics-reader"

// grant makes accounts of whom one may read the metrics, as a monitoring system's would.
const grant = `apiVersion: v1
kind: ServiceAccount
metadata: {name: ` + readerOfMetrics + `, namespace: ` + namespace + `}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: stranger, namespace: ` + namespace + `}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ` + readerOfMetrics + `}
rules:
- {nonResourceURLs: [/metrics], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ` + readerOfMetrics + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ` + readerOfMetrics + `}
subjects:
- {kind: ServiceAccount, name: ` + readerOfMetrics + `, namespace: ` + namespace + `}
`

// ports are where the programs serve metrics.
var ports = map[string]string{syncProgram: "8384", reportProgram: "8385"}

// metricsAuthorized requests the metrics without a token, with any token, and with
// one that is authorized.
func metricsAuthorized(t *testing.T, w *world) {
	for _, h := range w.hubs() {
		token := func(account string) string {
			return strings.TrimSpace(kubectl(t, h, "create", "token", account, "-n", namespace))
		}
		for _, c := range []struct {
			who, scheme, token string
			want               []int
		}{
			{"nobody", "https", "", []int{http.StatusUnauthorized}},
			// The second is how controller-runtime v0.23 answers.
			{"who has no valid token", "https", "none", []int{http.StatusUnauthorized, http.StatusInternalServerError}},
			{"who may not", "https", token("stranger"), []int{http.StatusForbidden}},
			{"who may", "https", token(readerOfMetrics), []int{http.StatusOK}},
			{"who may, but without TLS", "http", token(readerOfMetrics), []int{http.StatusBadRequest}},
		} {
			code, body, err := w.metrics(t.Context(), h, c.scheme, c.token)
			must(t, "ask for the metrics", err)
			has := strings.Contains(body, strings.ReplaceAll(h.program, "-", "_")+"_")
			if !slices.Contains(c.want, code) || has != (code == http.StatusOK) {
				t.Errorf("%s for %s: %d instead of %v, and metrics: %t", h.program, c.who, code, c.want, has)
			}
			t.Logf("%s for %s: %d", h.program, c.who, code)
		}
	}
}

// values are those of a metric of the program's one pod, by the value of its first label.
func (w *world) values(ctx context.Context, h *hub, name string) (map[string]float64, error) {
	token, err := h.run(ctx, "", "create", "token", readerOfMetrics, "-n", namespace)
	if err != nil {
		return nil, err
	}
	code, body, err := w.metrics(ctx, h, "https", strings.TrimSpace(token))
	if err != nil {
		return nil, err
	}
	if code != http.StatusOK {
		return nil, fmt.Errorf("the metrics: %d %s", code, body)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("read the metrics: %w", err)
	}
	values := map[string]float64{}
	for _, metric := range families[name].GetMetric() {
		label := ""
		if len(metric.GetLabel()) > 0 {
			label = metric.GetLabel()[0].GetValue()
		}
		values[label] += metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
	}
	return values, nil
}

// metrics asks the program's one pod.
func (w *world) metrics(ctx context.Context, h *hub, scheme, token string) (code int, body string, err error) {
	all, err := pods(ctx, h)
	if err != nil {
		return 0, "", err
	}
	if len(all) != 1 {
		return 0, "", fmt.Errorf("there are %d pods", len(all))
	}
	address, end, err := h.forward(ctx, all[0].Name, ports[h.program])
	if err != nil {
		return 0, "", err
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+address+"/metrics", nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	// The certificate is the program's own, made at its start.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// forward has kubectl forward a pod's port, and returns where to, and what ends it.
func (h *hub) forward(ctx context.Context, pod, port string) (string, func(), error) {
	ctx, cancel := context.WithCancel(ctx)
	forwarder := exec.CommandContext(ctx, h.kubectl, "--kubeconfig="+h.kubeconfig, "port-forward", "-n", ownNamespace, "pod/"+pod, ":"+port)
	var stderr strings.Builder
	forwarder.Stderr = &stderr
	stdout, err := forwarder.StdoutPipe()
	if err == nil {
		err = forwarder.Start()
	}
	if err != nil {
		cancel()
		return "", nil, fmt.Errorf("forward port %s of %s: %w", port, pod, err)
	}
	end := func() {
		cancel()
		_ = forwarder.Wait() // it is killed
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	address, _, found := strings.Cut(strings.TrimPrefix(line, "Forwarding from "), " -> ")
	if err != nil || !found {
		end()
		return "", nil, errors.Join(fmt.Errorf("forward port %s of %s: %q %s", port, pod, line, stderr.String()), err)
	}
	return address, end, nil
}
