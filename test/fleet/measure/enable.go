package measure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"open-cluster-management.io/helloworld-addon/test/fleet/flows"
	"open-cluster-management.io/helloworld-addon/test/fleet/hub"
)

// The aims of Enable.
const (
	aimLag       = 5 * time.Second
	aimRequests  = 12
	aimThrottled = 1 // seconds
)

// idleEnabled is how long the controller is watched when the add-on is enabled everywhere.
const idleEnabled = 20 * time.Second

// Enable enables the add-on on all clusters at once by a Placement, while OCM's add-on manager works,
// and prints what that takes.
func (s *Subject) Enable(ctx context.Context, h *hub.Hub) (err error) {
	if err := h.CountRequests(ctx); err != nil {
		return err
	}
	if err := h.StartManager(ctx); err != nil {
		return err
	}
	agents, err := h.Agents()
	if err != nil {
		return err
	}
	ctx, end := play(ctx, agents)
	defer func() { err = errors.Join(err, end()) }()
	stop, err := s.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := s.await(ctx, s.hasStarted); err != nil {
		return err
	}
	if err := s.wait(ctx, 5*time.Second); err != nil {
		return err
	}
	before, err := s.state(ctx, h)
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := h.Decide(ctx); err != nil {
		return err
	}
	times, err := s.awaitEnabled(ctx, h, agents)
	if err != nil {
		return err
	}
	after, err := s.state(ctx, h)
	if err != nil {
		return err
	}
	s.printTimes(begin, times)
	s.printCost(before, after, float64(h.Clusters))
	if err := s.wait(ctx, idleEnabled); err != nil {
		return err
	}
	idle, err := s.state(ctx, h)
	if err != nil {
		return err
	}
	n, list := perCluster(after.requests, idle.requests, idleEnabled.Seconds())
	s.row("requests per second when idle", fmt.Sprintf("%.3g %s", n, list), 0)
	return nil
}

// play plays the agents until end is called. The context ends when they fail, and end returns why.
func play(ctx context.Context, agents *hub.Agents) (playing context.Context, end func() error) {
	ctx, cancel := context.WithCancel(ctx)
	played := make(chan error, 1)
	go func() {
		defer cancel()
		played <- agents.Run(ctx)
	}()
	return ctx, func() error {
		cancel()
		return <-played
	}
}

// state is what is counted at one moment.
type state struct {
	requests flows.Counts
	metrics  metrics
}

func (s *Subject) state(ctx context.Context, h *hub.Hub) (state, error) {
	requests, err := h.Requests(ctx)
	if err != nil {
		return state{}, err
	}
	m, err := s.scrape(ctx)
	return state{requests, m}, err
}

// awaitEnabled waits until every cluster has all of the add-on, and nothing has changed for a while.
func (s *Subject) awaitEnabled(ctx context.Context, h *hub.Hub, agents *hub.Agents) (hub.Times, error) {
	const settled = 5 * time.Second
	var times hub.Times
	shown := time.Now()
	err := s.await(ctx, func() (bool, error) {
		var changed time.Time
		times, changed = agents.Seen()
		for _, seen := range []map[string]time.Time{times.Configured, times.Shipped, times.Approved, times.Cleaned, times.Applied} {
			if len(seen) < h.Clusters {
				if time.Since(shown) > 30*time.Second {
					shown = time.Now()
					fmt.Fprintf(s.Out, "  configured %d, shipped %d, approved %d, applied %d, cleaned %d\n",
						len(times.Configured), len(times.Shipped), len(times.Approved), len(times.Applied), len(times.Cleaned))
				}
				return false, nil
			}
		}
		return time.Since(changed) > settled, nil
	})
	return times, err
}

func (s *Subject) printTimes(begin time.Time, times hub.Times) {
	last := func(seen map[string]time.Time) time.Time {
		return slices.MaxFunc(slices.Collect(maps.Values(seen)), time.Time.Compare)
	}
	since := func(at time.Time) time.Duration { return at.Sub(begin).Round(10 * time.Millisecond) }
	configured, shipped := last(times.Configured), last(times.Shipped)
	s.row("OCM has configured the last cluster", since(configured), "-")
	s.row("the last ManifestWork is there", since(shipped), "-")
	s.row("the one after the other", shipped.Sub(configured).Round(10*time.Millisecond), aimLag)
	s.row("the last certificate is approved", since(last(times.Approved)), "-")
	s.row("the last cluster has ManifestApplied", since(last(times.Applied)), "-")
}

func (s *Subject) printCost(before, after state, clusters float64) {
	n, list := perCluster(before.requests, after.requests, clusters)
	s.row("requests per cluster", fmt.Sprintf("%.4g %s", n, list), aimRequests)
	difference := func(name string) float64 { return after.metrics.sum(name) - before.metrics.sum(name) }
	s.row("conflicts and other answers but 2xx", after.metrics.failures(before.metrics), 0)
	s.row("seconds of client-side throttling", fmt.Sprintf("%.1f", difference("rest_client_rate_limiter_duration_seconds_sum")), aimThrottled)
	s.row("retries of work queues", fmt.Sprintf("%.0f", difference("workqueue_retries_total")), "-")
	s.row("CPU seconds", fmt.Sprintf("%.1f", difference("process_cpu_seconds_total")), "-")
	s.row("live heap, MiB", fmt.Sprintf("%.0f", after.metrics.sum("go_gc_heap_live_bytes")/(1<<20)), "-")
	s.row("RSS, MiB", fmt.Sprintf("%.0f", s.memory("VmRSS:")), "-")
}

// perCluster divides the requests between two moments, without flows.Upkeep.
func perCluster(before, after flows.Counts, divisor float64) (sum float64, list string) {
	since := after.Since(before)
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(since)) {
		if since[kind] > 0 && !slices.Contains(flows.Upkeep, kind) {
			parts = append(parts, fmt.Sprintf("%s %.3g", kind, since[kind]/divisor))
		}
	}
	return since.Sum(flows.Upkeep...) / divisor, "(" + strings.Join(parts, ", ") + ")"
}

// failures returns the number of answers by code, but those with 2xx and those that watches end with.
func (m metrics) failures(before metrics) string {
	codes := map[string]float64{}
	for key, value := range m {
		if !strings.HasPrefix(key, "rest_client_requests_total{") {
			continue
		}
		_, rest, _ := strings.Cut(key, `code="`)
		code, _, _ := strings.Cut(rest, `"`)
		if n := value - before[key]; n > 0 && !strings.HasPrefix(code, "2") {
			codes[code] += n
		}
	}
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		parts = append(parts, fmt.Sprintf("%s: %.0f", code, codes[code]))
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
