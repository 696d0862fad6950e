//go:build sandbox || pictures

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
	"strconv"
	"strings"
	"testing"
	"time"
)

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

func newLive(dir string) *live {
	return &live{dir: dir, client: &http.Client{Timeout: 10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}}
}

// connect connects to the sandbox. The controllers of its hub are targets, and so are the agents of these clusters, and a lease
// sidecar that renews its lease every so many seconds.
func connect(t *testing.T, renewal int, clusters ...string) *live {
	t.Helper()
	l := newLive(os.Getenv("SANDBOX"))
	if l.dir == "" {
		t.Fatal("SANDBOX is not set: run make test-monitoring")
	}
	l.token = strings.TrimSpace(l.kubectl(t, "hub", "create", "token", "-n", "default", "prometheus", "--duration=2h"))
	l.targets = l.monitored(t)
	for i, cluster := range clusters {
		agent := strings.TrimSpace(l.kubectl(t, cluster, "get", "pods", "-n", "default", "-l", "app.kubernetes.io/name=helloworld-agent", "-o", "name"))
		pod := strings.TrimPrefix(agent, "pod/")
		l.targets = append(l.targets, target{"helloworld-agent", "default", pod, "http://" + l.forward(t, cluster, "default", agent, "8080") + "/metrics"})
		if i == 0 {
			l.targets = append(l.targets, target{"klusterlet-addon-lease-controller", "default", "sidecar", "http://" + l.sidecar(t, pod, renewal) + "/metrics"})
		}
	}
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

// background starts a command that ends with the test, waits until what it prints matches a pattern, and returns the pattern's groups.
func background(t *testing.T, command *exec.Cmd, pattern string, wait time.Duration) []string {
	t.Helper()
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = command.Stdout
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	found, ended := make(chan []string, 1), make(chan struct{})
	var log strings.Builder
	go func() {
		defer close(ended)
		expression := regexp.MustCompile(pattern)
		lines, matched := bufio.NewScanner(output), false
		for lines.Scan() {
			fmt.Fprintln(&log, lines.Text())
			if matched {
				continue
			}
			if match := expression.FindStringSubmatch(log.String()); match != nil {
				matched = true
				found <- match[1:]
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
	case <-time.After(wait):
		t.Fatalf("%s did not print %s within %s", command.Path, pattern, wait)
	}
	return nil
}

// forward forwards a free port to that of a pod, and returns its address.
func (l *live) forward(t *testing.T, cluster, namespace, pod, port string) string {
	t.Helper()
	return background(t, l.command(t, cluster, "port-forward", "-n", namespace, pod, ":"+port), `Forwarding from (127\.0\.0\.1:\d+)`, patience)[0]
}

// sidecar runs the lease sidecar beside the agent's pod, for a lease of its own on the managed cluster.
func (l *live) sidecar(t *testing.T, pod string, renewal int) string {
	t.Helper()
	address := freeAddress(t)
	command := exec.CommandContext(t.Context(), filepath.Join(top, "bin/klusterlet-addon-lease-controller"), "-kubeconfig="+filepath.Join(l.dir, "cluster1.kubeconfig"),
		"-lease-location=managed", "-lease-name=sidecar", "-lease-duration="+strconv.Itoa(renewal), "-startup-delay=0", "-health-bind-address=0", "-metrics-bind-address="+address, "-v=4")
	command.Env = append(os.Environ(), "POD_NAME="+pod, "POD_NAMESPACE=default", "WATCH_NAMESPACE=default")
	background(t, command, ".", patience)
	return address
}

// freeAddress is that of a port which was free. Nothing else of the test listens on fixed ports.
func freeAddress(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	return strings.TrimPrefix(server.URL, "http://")
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
		"--web.listen-address="+l.address), `Server is ready`, patience)
	l.until(t, "every program is scraped twice", func() bool { return len(l.query(t, "count_over_time(up[1m]) > 1 and up == 1")) == len(l.targets) })
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
