// Package measure runs the hub controller on a hub and measures what it takes.
package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"open-cluster-management.io/helloworld-addon/test/fleet/controller"
	"open-cluster-management.io/helloworld-addon/test/fleet/scrape"
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
	port    = 18443
	started = "Started controllers"
	limit   = 30 * time.Minute
)

// The metrics that are read, those of package controller apart.
const (
	cpuMetric      = "process_cpu_seconds_total"
	requestsMetric = "rest_client_requests_total"
	heapMetric     = "go_memstats_heap_alloc_bytes"
	queuedMetric   = "workqueue_depth"
	workingMetric  = "workqueue_unfinished_work_seconds"
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

	process *controller.Process
}

// Start starts the controller, and returns what ends it.
func (s *Subject) Start() (func() error, error) {
	var err error
	s.process, err = controller.Start(controller.Options{Name: "controller", Dir: s.Dir, Program: s.Program, Port: port, Token: s.Token, Once: true,
		Args: append([]string{"--kubeconfig=" + s.Kubeconfig, "--agent-image=example.com/agent:v1", "--namespace=open-cluster-management",
			"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port)}, s.Flags...)})
	if err != nil {
		return nil, err
	}
	return s.process.Stop, nil
}

// Measure starts the controller on a hub where everything is as it should be, and
// prints what it takes.
func (s *Subject) Measure(ctx context.Context) (err error) {
	begin := time.Now()
	stop, err := s.Start()
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
		if m.Sum(queuedMetric)+m.Sum(workingMetric) > 0 {
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
	s.row("requests until then", byMethod(first, nil, 1), "-")
	if err := s.wait(ctx, s.Idle); err != nil {
		return err
	}
	last, err := s.scrape(ctx)
	if err != nil {
		return err
	}
	seconds := s.Idle.Seconds()
	s.row("requests per second when idle", byMethod(last, first, seconds), aimRate)
	s.row("live heap, MiB", fmt.Sprintf("%.0f", last.Sum(controller.HeapMetric)/(1<<20)), aimHeap)
	s.row("heap, MiB", fmt.Sprintf("%.0f", last.Sum(heapMetric)/(1<<20)), "-")
	usage, err := s.process.Usage()
	if err != nil {
		return err
	}
	s.row("RSS, MiB", fmt.Sprintf("%.0f", float64(usage.RSS)/(1<<20)), aimRSS)
	s.row("CPU when idle, % of one", fmt.Sprintf("%.1f",
		100*(last.Sum(cpuMetric)-first.Sum(cpuMetric))/seconds), "-")
	return nil
}

func (s *Subject) row(what string, got, aim any) {
	fmt.Fprintf(s.Out, "%-75s %-22v aim %v\n", what, got, aim)
}

func (s *Subject) hasStarted() (bool, error) { return s.process.Logged(started) }

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

// wait returns an error when the controller ends: its counters end with it.
func (s *Subject) wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.process.Done():
		return cmp.Or(s.process.Err(), errors.New("the controller was stopped"))
	case <-time.After(d):
		return nil
	}
}

func (s *Subject) scrape(ctx context.Context) (scrape.Metrics, error) {
	return s.process.Metrics(ctx, controller.HeapMetric, controller.ThrottledMetric, cpuMetric, requestsMetric, heapMetric, queuedMetric, workingMetric)
}

// increase returns by how much the requests have increased since before, by the value of a label.
func increase(after, before scrape.Metrics, label string) map[string]float64 {
	requests := after.By(label, requestsMetric)
	for value, n := range before.By(label, requestsMetric) {
		requests[value] -= n
	}
	return requests
}

// byMethod is the increase of the requests, divided, as "2.5 (GET 2, PUT 0.5)".
func byMethod(after, before scrape.Metrics, divisor float64) string {
	var parts []string
	var sum float64
	requests := increase(after, before, "method")
	for _, method := range slices.Sorted(maps.Keys(requests)) {
		if n := requests[method]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %.4g", method, n/divisor))
			sum += n
		}
	}
	return fmt.Sprintf("%.4g (%s)", sum/divisor, strings.Join(parts, ", "))
}
