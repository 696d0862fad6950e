// Package measure runs the hub controller on a hub and measures what it takes.
package measure

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"open-cluster-management.io/helloworld-addon/test/fleet/controller"
)

// DefaultIdle is how long the idle controller is watched: longer than the two
// minutes after which Go collects garbage at the latest.
const DefaultIdle = 130 * time.Second

// The aims.
const (
	aimHeap  = 200 // MiB
	aimRSS   = 300 // MiB
	aimRate  = 1   // requests per second
	aimReady = 60 * time.Second
)

const (
	metricsURL = "https://127.0.0.1:18443/metrics"
	started    = "Started controllers"
	limit      = 30 * time.Minute
)

// Subject is the controller.
type Subject struct {
	// Program is its file; Dir gets its log.
	Program, Dir string
	// Kubeconfig is its own; Token may read its metrics.
	Kubeconfig, Token string
	// Flags are further flags of the controller.
	Flags []string
	// Idle is how long it is watched when it has nothing to do.
	Idle time.Duration
	// Out gets the figures.
	Out io.Writer

	cmd  *exec.Cmd
	done chan error
}

func (s *Subject) log() string { return filepath.Join(s.Dir, "controller.log") }

// Start starts the controller, and returns what ends it.
func (s *Subject) Start(ctx context.Context) (func() error, error) {
	log, err := os.Create(s.log())
	if err != nil {
		return nil, err
	}
	defer log.Close()
	// #nosec G204 -- the program is the caller's choice
	s.cmd = exec.CommandContext(context.WithoutCancel(ctx), s.Program, append([]string{"--kubeconfig=" + s.Kubeconfig,
		"--agent-image=example.com/agent:v1", "--namespace=open-cluster-management", "--bind-address=127.0.0.1", "--secure-port=18443"},
		s.Flags...)...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	// The memory limit is the hub's: see hub.With.
	s.cmd.Env = slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, "GOMEMLIMIT=") })
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() { done <- s.cmd.Wait() }()
	s.done = done
	return func() error {
		if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
			return errors.Join(err, <-done)
		}
		return <-done
	}, nil
}

// Measure starts the controller on a hub where everything is as it should be, and
// prints what it takes.
func (s *Subject) Measure(ctx context.Context) (err error) {
	begin := time.Now()
	stop, err := s.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := s.await(ctx, s.hasStarted); err != nil {
		return err
	}
	s.row("from start to ready", time.Since(begin).Round(100*time.Millisecond), aimReady)
	quiet := 0
	err = s.await(ctx, func() (bool, error) {
		m, err := s.scrape(ctx)
		if err != nil {
			return false, err
		}
		if m.sum("workqueue_depth")+m.sum("workqueue_unfinished_work_seconds") > 0 {
			quiet = 0
		}
		quiet++
		return quiet > 3, nil
	})
	if err != nil {
		return err
	}
	s.row("from start to the end of the first pass", time.Since(begin).Round(time.Second), "-")
	first, err := s.scrape(ctx)
	if err != nil {
		return err
	}
	s.row("requests until then", first.byMethod("rest_client_requests_total", nil, 1), "-")
	if err := s.wait(ctx, s.Idle); err != nil {
		return err
	}
	last, err := s.scrape(ctx)
	if err != nil {
		return err
	}
	seconds := s.Idle.Seconds()
	s.row("requests per second when idle", last.byMethod("rest_client_requests_total", first, seconds), aimRate)
	s.row("live heap, MiB", fmt.Sprintf("%.0f", last.sum(controller.HeapMetric)/(1<<20)), aimHeap)
	s.row("heap, MiB", fmt.Sprintf("%.0f", last.sum("go_memstats_heap_alloc_bytes")/(1<<20)), "-")
	s.row("RSS, MiB", fmt.Sprintf("%.0f", s.memory("VmRSS:")), aimRSS)
	s.row("RSS at its highest, MiB", fmt.Sprintf("%.0f", s.memory("VmHWM:")), "-")
	s.row("CPU when idle, % of one", fmt.Sprintf("%.1f",
		100*(last.sum("process_cpu_seconds_total")-first.sum("process_cpu_seconds_total"))/seconds), "-")
	return nil
}

func (s *Subject) row(what string, got, aim any) {
	fmt.Fprintf(s.Out, "%-75s %-22v aim %v\n", what, got, aim)
}

func (s *Subject) hasStarted() (bool, error) {
	log, err := os.ReadFile(s.log())
	return bytes.Contains(log, []byte(started)), err
}

// await asks every half second, and ends with an error when the controller does.
func (s *Subject) await(ctx context.Context, is func() (bool, error)) error {
	end := time.Now().Add(limit)
	for {
		ok, err := is()
		if ok || (err != nil && time.Now().After(end)) {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("not done within %s", limit)
		}
		if err := s.wait(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
}

func (s *Subject) wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-s.done:
		s.done <- err
		return fmt.Errorf("the controller has ended: %w: see %s", err, s.log())
	case <-time.After(d):
		return nil
	}
}

// memory reads a line of /proc/PID/status, in MiB. It returns NaN when the process has ended.
func (s *Subject) memory(name string) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return math.NaN()
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == name {
			kib, _ := strconv.ParseFloat(fields[1], 64)
			return kib / 1024
		}
	}
	return math.NaN()
}

// metrics are values by name and labels.
type metrics map[string]float64

func (s *Subject) scrape(ctx context.Context) (metrics, error) {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		// #nosec G402 -- the controller signs its certificate itself
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, metricsURL, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+s.Token)
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return nil, errors.Join(err, fmt.Errorf("read the controller's metrics: %s", response.Status))
	}
	m := metrics{}
	for line := range strings.Lines(string(body)) {
		i := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || i < 0 {
			continue
		}
		if m[line[:i]], err = strconv.ParseFloat(strings.TrimSpace(line[i:]), 64); err != nil {
			return nil, fmt.Errorf("metric %q: %w", strings.TrimSpace(line), err)
		}
	}
	return m, nil
}

func (m metrics) sum(name string) float64 {
	var sum float64
	for key, value := range m {
		if key == name || strings.HasPrefix(key, name+"{") {
			sum += value
		}
	}
	return sum
}

// value returns the sum of a metric, or NaN when there is none.
func (m metrics) value(name string) float64 {
	for key := range m {
		if key == name || strings.HasPrefix(key, name+"{") {
			return m.sum(name)
		}
	}
	return math.NaN()
}

// byMethod is a sum less that of before, divided, as "2.5 (GET 2, PUT 0.5)".
func (m metrics) byMethod(name string, before metrics, divisor float64) string {
	methods := map[string]float64{}
	for key, value := range m {
		if !strings.HasPrefix(key, name+"{") {
			continue
		}
		_, rest, _ := strings.Cut(key, `method="`)
		method, _, _ := strings.Cut(rest, `"`)
		methods[method] += value - before[key]
	}
	var parts []string
	var sum float64
	for method, n := range methods {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %.4g", method, n/divisor))
			sum += n
		}
	}
	slices.Sort(parts)
	return fmt.Sprintf("%.4g (%s)", sum/divisor, strings.Join(parts, ", "))
}
