package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"open-cluster-management.io/helloworld-addon/test/fleet/controller"
	"open-cluster-management.io/helloworld-addon/test/fleet/flows"
	"open-cluster-management.io/helloworld-addon/test/fleet/hub"
	"open-cluster-management.io/helloworld-addon/test/fleet/record"
	"open-cluster-management.io/helloworld-addon/test/fleet/scrape"
)

// Enable enables the add-on on all clusters at once by a Placement, while OCM's add-on manager works,
// and adds what that takes to the record, as figures of the step Hub.
func (s *Subject) Enable(ctx context.Context, h *hub.Hub, r *record.Record) (err error) {
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
	stop, err := s.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := s.await(ctx, s.hasStarted); err != nil {
		return err
	}
	if err := s.wait(ctx, s.Idle); err != nil {
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
	// at once, so that they are known when the wait fails
	addTimes(r, begin, times)
	addCost(r, before, after)
	if err := s.wait(ctx, s.Idle); err != nil {
		return err
	}
	idle, err := s.state(ctx, h)
	if err != nil {
		return err
	}
	addIdle(r, before, after, idle)
	usage, err := s.process.Usage()
	if err != nil {
		return err
	}
	r.Judge(figure(record.RSS, "controller", "MiB", float64(usage.RSS)/(1<<20)), record.AtMost(aimRSS))
	return nil
}

// Print prints the record's figures beside their aims, and what was missed.
func (s *Subject) Print(r *record.Record) {
	for _, f := range r.Figures {
		s.row(strings.TrimSpace(f.Metric+" "+f.Stat), fmt.Sprintf("%.5g %s", f.Value, f.Unit), cmp.Or(f.Aim, "-"))
	}
	failures, ofThisMachine := r.Missed()
	for _, line := range append(failures, ofThisMachine...) {
		fmt.Fprintln(s.Out, "missed:", line)
	}
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
	at       time.Time
	requests flows.Counts
	metrics  scrape.Metrics
}

func (s *Subject) state(ctx context.Context, h *hub.Hub) (state, error) {
	requests, err := h.Requests(ctx)
	if err != nil {
		return state{}, err
	}
	m, err := s.scrape(ctx)
	return state{time.Now(), requests, m}, err
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

// figure returns a figure of the step Hub.
func figure(metric, stat, unit string, value float64) record.Figure {
	return record.Figure{Step: record.Hub, Metric: metric, Stat: stat, Unit: unit, Value: value}
}

// addTimes adds the times since the Placement decided.
func addTimes(r *record.Record, begin time.Time, times hub.Times) {
	for _, event := range []struct {
		metric string
		seen   map[string]time.Time
	}{
		{record.Configured, times.Configured}, {record.Shipped, times.Shipped}, {record.Approved, times.Approved}, {record.Applied, times.Applied},
	} {
		var samples []time.Duration
		for _, at := range event.seen {
			samples = append(samples, at.Sub(begin))
		}
		r.Latencies(figure(event.metric, "", "s", 0), samples, r.Size)
	}
	r.Judge(figure(record.ShippedLag, "", "s", last(times.Shipped).Sub(last(times.Configured)).Seconds()), record.AtMost(5).For(0, 1000))
}

// last returns the latest of the times, of which there has to be one.
func last(seen map[string]time.Time) time.Time {
	return slices.MaxFunc(slices.Collect(maps.Values(seen)), time.Time.Compare)
}

// addCost adds the controller's requests, throttling and CPU time between two moments.
func addCost(r *record.Record, before, after state) {
	r.Requests(figure(record.EnableRequests, "", "requests", 0), after.requests.Since(before.requests), flows.Upkeep, float64(r.Size))
	refused, all := refusedSince(after.metrics, before.metrics), 0.0
	for _, code := range slices.Sorted(maps.Keys(refused)) {
		r.Add(figure(record.Refused, code, "requests", refused[code]))
		all += refused[code]
	}
	r.Add(figure(record.Refused, record.All, "requests", all))
	difference := func(name string) float64 { return after.metrics.Value(name) - before.metrics.Value(name) }
	r.Judge(figure(record.Throttled, "", "s", difference(controller.ThrottledMetric)), record.AtMost(1).For(0, 1000))
	r.Add(figure(record.ControllerCPU, "", "ms", 1000*difference(cpuMetric)/float64(r.Size)))
}

// addIdle adds the live heap and the requests of the idle controller, which has been idle since the moment after. Both heaps
// are measured when the controller has been idle for DefaultIdle, so that they contain no garbage.
func addIdle(r *record.Record, before, after, idle state) {
	heap := idle.metrics.Value(controller.HeapMetric)
	r.Add(figure(record.HeapGrowth, "", "KiB", (heap-before.metrics.Value(controller.HeapMetric))/1024/float64(r.Size)))
	r.Add(figure(record.Heap, "", "MiB", heap/(1<<20)))
	requests := idle.requests.Since(after.requests)
	perMinute := requests.Sum(flows.Upkeep...) / idle.at.Sub(after.at).Minutes()
	if requests[flows.Leases] == 0 {
		perMinute = math.NaN() // it renews its lease all the time: the requests were not counted
	}
	r.Judge(figure(record.IdleRequests, "controller", "per min", perMinute), record.AtMost(0))
}

// refusedSince returns the number of answers other than 2xx since before, by code, and of requests without an answer as "none".
func refusedSince(after, before scrape.Metrics) map[string]float64 {
	refused := map[string]float64{}
	for code, n := range increase(after, before, "code") {
		if code == "<error>" {
			code = "none"
		}
		if n > 0 && !strings.HasPrefix(code, "2") {
			refused[code] = n
		}
	}
	return refused
}
