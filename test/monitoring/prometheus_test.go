//go:build sandbox

package monitoring

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// clusters is how many managed clusters the sandbox has.
const clusters = 1

const (
	patience = 2 * time.Minute
	pause    = time.Second
)

// target is what Prometheus scrapes, with the labels that the operator gives it.
type target struct {
	job, namespace, pod, url string
}

// live is a sandbox with all programs, and a Prometheus that scrapes them.
type live struct {
	dir, token, address string
	targets             []target
	// options are added to the configuration of a pod's target.
	options map[string]map[string]any
	client  *http.Client
}

// start brings everything up. It ends with the test.
func start(t *testing.T) *live {
	l := &live{dir: os.Getenv("SANDBOX"), client: &http.Client{Timeout: 10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}}
	if l.dir == "" {
		t.Fatal("SANDBOX is not set: run make test-monitoring")
	}
	l.token = strings.TrimSpace(l.kubectl(t, "hub", "create", "token", "-n", "default", "prometheus", "--duration=2h"))
	l.targets = l.monitored(t)
	agent := strings.TrimSpace(l.kubectl(t, "cluster1", "get", "pods", "-n", "default", "-l", "app.kubernetes.io/name=helloworld-agent", "-o", "name"))
	agentPod := strings.TrimPrefix(agent, "pod/")
	l.targets = append(l.targets,
		target{"helloworld-agent", "default", agentPod, "http://" + l.forward(t, "cluster1", "default", agent, "8080") + "/metrics"},
		target{"klusterlet-addon-lease-controller", "default", "sidecar", "http://" + l.sidecar(t, agentPod) + "/metrics"},
		target{"hub-of-hubs-status-sync", "open-cluster-management", "hub-of-hubs-status-sync", serveFile(t, "hub-of-hubs-status-sync/pkg/syncer/testdata/metrics.txt")},
		target{"hub-of-hubs-status-report", "open-cluster-management", "hub-of-hubs-status-report", serveFile(t, "hub-of-hubs-status-sync/pkg/reporter/testdata/metrics.txt")})
	l.prometheus(t)
	l.change(t)
	return l
}

func (l *live) command(t *testing.T, cluster string, args ...string) *exec.Cmd {
	t.Helper()
	program, err := filepath.Abs(filepath.Join(top, "bin/sandbox/kubectl"))
	if err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(t.Context(), program, append([]string{"--kubeconfig=" + filepath.Join(l.dir, cluster+".kubeconfig")}, args...)...)
}

func (l *live) kubectl(t *testing.T, cluster string, args ...string) string {
	t.Helper()
	output, err := l.command(t, cluster, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, output)
	}
	return string(output)
}

// background starts a command that ends with the test, and returns the match of a pattern in what it prints.
func background(t *testing.T, command *exec.Cmd, pattern string) string {
	t.Helper()
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = command.Stdout
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	found, ended := make(chan string, 1), make(chan struct{})
	var log strings.Builder
	go func() {
		defer close(ended)
		expression := regexp.MustCompile(pattern)
		lines := bufio.NewScanner(output)
		for lines.Scan() {
			fmt.Fprintln(&log, lines.Text())
			if match := expression.FindStringSubmatch(lines.Text()); match != nil && len(found) == 0 {
				found <- match[1]
			}
		}
	}()
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		<-ended
		_ = command.Wait()
		if t.Failed() {
			t.Logf("%s: %s", command.Path, log.String())
		}
	})
	select {
	case match := <-found:
		return match
	case <-ended:
		t.Fatalf("%s has ended: %s", command.Path, log.String())
	case <-time.After(patience):
		t.Fatalf("%s did not print %s within %s", command.Path, pattern, patience)
	}
	return ""
}

// forward forwards a free port to that of a pod, and returns its address.
func (l *live) forward(t *testing.T, cluster, namespace, pod, port string) string {
	t.Helper()
	return background(t, l.command(t, cluster, "port-forward", "-n", namespace, pod, ":"+port), `Forwarding from (127\.0\.0\.1:\d+)`)
}

// sidecar runs the lease sidecar beside the agent's pod, for a lease of its own on the managed cluster.
func (l *live) sidecar(t *testing.T, pod string) string {
	t.Helper()
	address := freeAddress(t)
	command := exec.CommandContext(t.Context(), filepath.Join(top, "bin/klusterlet-addon-lease-controller"), "-kubeconfig="+filepath.Join(l.dir, "cluster1.kubeconfig"),
		"-lease-location=managed", "-lease-name=sidecar", "-lease-duration=2", "-startup-delay=0", "-health-bind-address=0", "-metrics-bind-address="+address, "-v=4")
	command.Env = append(os.Environ(), "POD_NAME="+pod, "POD_NAMESPACE=default", "WATCH_NAMESPACE=default")
	background(t, command, "(.+)")
	return address
}

// freeAddress is that of a port which was free. Nothing else of the test listens on fixed ports.
func freeAddress(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	return strings.TrimPrefix(server.URL, "http://")
}

func serveFile(t *testing.T, path string) string {
	t.Helper()
	text := read(t, top, path)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/metrics"
}

// prometheus starts Prometheus with the rules.
func (l *live) prometheus(t *testing.T) {
	t.Helper()
	var jobs []any
	for i, target := range l.targets {
		at, err := url.Parse(target.url)
		if err != nil {
			t.Fatal(err)
		}
		job := map[string]any{"job_name": fmt.Sprintf("%s-%d", target.job, i), "scheme": at.Scheme,
			"static_configs": []any{map[string]any{"targets": []string{at.Host}, "labels": map[string]string{"namespace": target.namespace, "pod": target.pod, "job": target.job}}}}
		maps.Copy(job, l.options[target.pod])
		jobs = append(jobs, job)
	}
	config := write(t, "prometheus.yaml", map[string]any{"global": map[string]any{"scrape_interval": "2s", "evaluation_interval": "5s"},
		"rule_files": []string{write(t, "rules.yaml", groups(t))}, "scrape_configs": jobs})
	l.address = freeAddress(t)
	background(t, exec.CommandContext(t.Context(), filepath.Join(top, "bin/prometheus"), "--config.file="+config, "--storage.tsdb.path="+t.TempDir(),
		"--web.listen-address="+l.address), `(Server is ready)`)
	l.until(t, "every program is scraped twice", func() bool { return len(l.query(t, "count_over_time(up[1m]) > 1 and up == 1")) == len(l.targets) })
}

// change makes the programs work, so that rates are not of nothing.
func (l *live) change(t *testing.T) {
	t.Helper()
	for i := range 3 {
		l.kubectl(t, "hub", "annotate", "--overwrite", "managedclusteraddon", "-n", "cluster1", "helloworld", fmt.Sprintf("test.example.com/change=%d", i))
		l.kubectl(t, "hub", "patch", "configmap", "-n", "cluster1", "greeting", "--type=merge", "-p", fmt.Sprintf(`{"data":{"change":"%d"}}`, i))
		l.kubectl(t, "hub", "patch", "configmap", "-n", "team-a", "settings", "--type=merge", "-p", fmt.Sprintf(`{"data":{"change":"%d"}}`, i))
		sleep(t, 3*time.Second)
	}
	l.until(t, "the copy of the change is counted", func() bool { return len(l.query(t, `rate(helloworld_agent_sync_duration_seconds_count[5m]) > 0`)) == 1 })
	l.until(t, "the fleet is well", func() bool {
		return len(l.query(t, fmt.Sprintf(`helloworld_fleet_clusters{state="Synced"} == %d`, clusters))) == 1 &&
			len(l.query(t, `helloworld_replicaset_clusters{state="synced"} == ignoring(state) helloworld_replicaset_clusters{state="total"}`)) == 1
	})
}

func (l *live) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("not within %s: %s; targets that are down: %s", patience, what, l.get(t, "/api/v1/targets?state=active"))
		case <-time.After(pause):
		}
	}
}

func sleep(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-t.Context().Done():
	case <-time.After(d):
	}
}

func (l *live) scrape(t *testing.T, target target) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+l.token)
	return l.do(t, request)
}

func (l *live) get(t *testing.T, path string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l.do(t, request)
}

func (l *live) do(t *testing.T, request *http.Request) string {
	t.Helper()
	response, err := l.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("get %s: status %d, error %v: %s", request.URL, response.StatusCode, err, text)
	}
	return string(text)
}

// query returns the values of the series that Prometheus finds now.
func (l *live) query(t *testing.T, expr string) []string {
	t.Helper()
	var answer struct {
		Data struct {
			ResultType string `json:"resultType"`
			Result     []struct {
				Value [2]any `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(l.get(t, "/api/v1/query?query="+url.QueryEscape(expr))), &answer); err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	if answer.Data.ResultType != "vector" {
		t.Fatalf("%s is a %s", expr, answer.Data.ResultType)
	}
	var values []string
	for _, series := range answer.Data.Result {
		values = append(values, fmt.Sprint(series.Value[1]))
	}
	return values
}

// loadedRules returns how many rules Prometheus evaluates without an error.
func (l *live) loadedRules(t *testing.T) int {
	t.Helper()
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	if err := json.Unmarshal([]byte(l.get(t, "/api/v1/rules")), &answer); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, group := range answer.Data.Groups {
		for _, rule := range group.Rules {
			if rule.Health == "ok" {
				n++
			} else {
				t.Errorf("Prometheus cannot evaluate %s: %s %s", rule.Name, rule.Health, rule.LastError)
			}
		}
	}
	return n
}
