package steps

import (
	"context"
	"fmt"
	"time"

	"open-cluster-management.io/helloworld-addon/test/bench/procfs"
	"open-cluster-management.io/helloworld-addon/test/fleet/flows"
	"open-cluster-management.io/helloworld-addon/test/fleet/record"
	"open-cluster-management.io/helloworld-addon/test/fleet/scrape"
)

// The metrics of the API server.
const (
	longRunning = "apiserver_longrunning_requests"
	allRequests = "apiserver_request_total"
)

// The programs whose use is told, by their name.
const (
	apiServer = "kube-apiserver"
	simulator = "ocm-fleet"
	addOnsOf  = "fleet-agents"
	etcd      = "etcd"
)

const mebibyte = 1 << 20

// state is what is counted at one moment.
type state struct {
	at time.Time
	// tree is what the sandbox's programs use, leader what the controller does.
	tree   map[string]procfs.Usage
	leader procfs.Usage
	// controller, agents and ocm are requests since the API server started.
	controller, agents, ocm flows.Counts
	server, own             scrape.Metrics
}

// state reads all counters.
func (f *Fleet) state(ctx context.Context) (s state, err error) {
	s.at = time.Now()
	if s.tree, err = procfs.Tree(f.supervisor); err != nil {
		return s, err
	}
	if s.server, err = f.serverMetrics(ctx); err != nil {
		return s, err
	}
	s.controller, s.agents, s.ocm = f.ofController.Count(s.server), f.ofAgents.Count(s.server), f.ofOCM.Count(s.server)
	p, err := f.leader()
	if err != nil {
		return s, err
	}
	if s.leader, err = p.Usage(); err != nil {
		return s, err
	}
	s.own, err = f.controllerMetrics(ctx)
	return s, err
}

func (f *Fleet) serverMetrics(ctx context.Context) (scrape.Metrics, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	text, err := f.kube.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the metrics of the API server: %w", err)
	}
	return scrape.Parse(text, flows.Dispatched, longRunning, allRequests)
}

// sameLeader reports whether one process led at both moments. Otherwise it records a failure, because
// the counters of a process begin at zero.
func (f *Fleet) sameLeader(step string, before, after state) bool {
	if before.leader.PID == after.leader.PID {
		return true
	}
	f.Record.Fail(step, fmt.Errorf("another process leads than before, %d instead of %d: what the controller of %s used is not known",
		after.leader.PID, before.leader.PID, f.Subject.Name))
	return false
}

// quiet waits until the controller, and the other programs that are counted, have made no request but for leases for
// a while. What goes on after the limit is counted as well.
func (f *Fleet) quiet(ctx context.Context, d time.Duration, others ...*flows.Counter) error {
	var last float64
	since, end := time.Now(), time.Now().Add(f.Times.Limit)
	for time.Since(since) < d && time.Now().Before(end) {
		metrics, err := f.serverMetrics(ctx)
		if err != nil {
			return err
		}
		n := f.ofController.Count(metrics).Sum(flows.Upkeep...)
		for _, counter := range others {
			n += counter.Count(metrics).Sum(flows.Upkeep...)
		}
		if n != last {
			last, since = n, time.Now()
		}
		if err := f.pause(ctx, time.Second); err != nil {
			return err
		}
	}
	return nil
}

// memory records the memory of the sandbox's programs in groups, and returns the figure of all.
func (f *Fleet) memory(step string, tree map[string]procfs.Usage) record.Figure {
	groups := groupsOf(tree)
	var all float64
	for _, group := range sorted(groups) {
		f.Record.Add(f.figure(step, record.RSS, group, "MiB", groups[group]))
		all += groups[group]
	}
	return f.figure(step, record.RSS, "hub and fleet", "MiB", all)
}

// groupsOf adds up the programs' memory in groups, in MiB.
func groupsOf(tree map[string]procfs.Usage) map[string]float64 {
	sums := map[string]float64{}
	for name, u := range tree {
		group := "hub"
		switch name {
		case simulator:
			group = "OCM's agents and the clusters' APIs"
		case addOnsOf:
			group = "add-on agents"
		}
		sums[group] += float64(u.RSS) / mebibyte
	}
	return sums
}

// figure is one of a step of the present subject.
func (f *Fleet) figure(step, metric, stat, unit string, value float64) record.Figure {
	return record.Figure{Step: step, Metric: metric, Stat: stat, Unit: unit, Subject: f.Subject.Name, Value: value}
}

// millicores is the share of a CPU that was used between two moments.
func millicores(from, to time.Duration, elapsed time.Duration) float64 {
	return 1000 * float64(to-from) / float64(elapsed)
}
