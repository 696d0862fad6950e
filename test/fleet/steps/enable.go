package steps

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"open-cluster-management.io/helloworld-addon/test/fleet/controller"
	"open-cluster-management.io/helloworld-addon/test/fleet/flows"
	"open-cluster-management.io/helloworld-addon/test/fleet/record"
)

// quietFor is how long the controller must not have made a request, before its requests count as
// complete.
const quietFor = 10 * time.Second

// Deploy installs the add-on's controller on the hub, enabled nowhere, and creates the Placement.
func Deploy(ctx context.Context, f *Fleet) error {
	f.say("the controller of %s is installed, a Placement selects %d clusters", f.Subject.Name, cmp.Or(f.EnableOn, f.Size()))
	if err := f.deploy(ctx); err != nil {
		return err
	}
	selected, err := f.place(ctx)
	if err != nil {
		return err
	}
	if f.EnableOn > 0 {
		f.Clusters = slices.Sorted(maps.Keys(selected))
	}
	if _, err := f.write(ctx, firstMap, firstMap, f.Clusters); err != nil {
		return err
	}
	return f.quiet(ctx, 5*time.Second)
}

// Enable lets the Placement enable the add-on on its clusters at once. With EnableOn its figures are those of the step
// EnablePart.
func Enable(ctx context.Context, f *Fleet) error {
	f.say("2. %s is enabled on %d clusters at once", f.Subject.Name, f.Size())
	step := record.Enable
	if f.EnableOn > 0 {
		step = record.EnablePart
		f.Record.Add(f.figure(step, record.Enabled, "", "clusters", float64(f.Size())))
	}
	before, err := f.state(ctx)
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := f.enable(ctx, toAll); err != nil {
		return err
	}
	events := []struct{ event, metric string }{{configured, record.Configured}, {shipped, record.Shipped}, {approved, record.Approved}}
	if f.Subject.Name == record.Ours { // the rival has no agents here
		events = append(events, []struct{ event, metric string }{{copied(firstMap, firstMap), record.Copied}, {available, record.Available}}...)
	}
	var late []error
	for _, e := range events {
		if err := f.awaitWith(ctx, e.event, f.Clusters); err != nil {
			late = append(late, err)
			break // what comes later is later still
		}
	}
	if err := f.quiet(ctx, quietFor); err != nil {
		return err
	}
	for _, e := range events {
		f.Record.Latencies(f.figure(step, e.metric, "", "s", 0), f.board.Samples(e.event, begin, f.Clusters), f.Size())
	}
	f.judge(f.figure(step, record.ShippedLag, "", "s", f.shippedLag()), record.AtMost(5).For(100, 1000))
	after, err := f.state(ctx)
	if err != nil {
		return errors.Join(append(late, err)...)
	}
	f.cost(step, before, after)
	return errors.Join(late...)
}

// shippedLag returns the seconds between the last cluster's Configured and the last ManifestWork; no
// number when a cluster lacks one of them.
func (f *Fleet) shippedLag() float64 {
	lastConfigured, ready := f.board.Last(configured, f.Clusters)
	lastShipped, sent := f.board.Last(shipped, f.Clusters)
	if min(ready, sent) < f.Size() {
		return math.NaN()
	}
	return lastShipped.Sub(lastConfigured).Seconds()
}

// judge compares a figure of our add-on on all clusters with its aim. The rival has none.
func (f *Fleet) judge(figure record.Figure, aim record.Aim) {
	if f.Subject.Name == record.Ours && f.EnableOn == 0 {
		f.Record.Judge(figure, aim)
	} else {
		f.Record.Add(figure)
	}
}

// awaitWith waits for an event of the clusters, and tells how far it is.
func (f *Fleet) awaitWith(ctx context.Context, event string, names []string) error {
	const often = 15 * time.Second
	for end := time.Now().Add(f.Times.Limit); ; {
		err := f.board.Await(ctx, event, names, min(often, time.Until(end)))
		if err == nil || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
		_, seen := f.board.Last(event, names)
		f.say("   %s: %d of %d", event, seen, len(names))
	}
}

// cost adds what enabling took between two moments.
func (f *Fleet) cost(step string, before, after state) {
	n := float64(f.Size())
	f.Record.Requests(f.figure(step, record.EnableRequests, "", "requests", 0), after.controller.Since(before.controller), flows.Upkeep, n)
	same := f.sameLeader(step, before, after)
	if f.Subject.Metrics && same {
		f.judge(f.figure(step, record.Throttled, "", "s", after.own.Sum(controller.ThrottledMetric)-before.own.Sum(controller.ThrottledMetric)), record.AtMost(1).For(100, 1000))
		f.Record.Add(f.figure(step, record.HeapGrowth, "", "KiB", (after.own.Sum(controller.HeapMetric)-before.own.Sum(controller.HeapMetric))/1024/n))
	}
	if f.Subject.Metrics {
		f.Record.Add(f.figure(step, record.Heap, "", "MiB", after.own.Sum(controller.HeapMetric)/mebibyte))
	}
	cpu := func(d time.Duration) float64 { return float64(d.Milliseconds()) / n }
	if same {
		f.Record.Add(f.figure(step, record.ControllerCPU, "", "ms", cpu(after.leader.CPU-before.leader.CPU)))
	}
	if f.EnableOn == 0 { // else most of it is for the other clusters
		f.Record.Add(f.figure(step, record.ServerCPU, "", "ms", cpu(after.tree[apiServer].CPU-before.tree[apiServer].CPU)))
	}
	f.Record.Add(f.memory(step, after.tree))
	f.Record.Add(f.figure(step, record.RSS, "API server", "MiB", float64(after.tree[apiServer].RSS)/mebibyte))
	f.Record.Add(f.figure(step, record.RSS, "controller", "MiB", float64(after.leader.RSS)/mebibyte))
}

func sorted[V any](m map[string]V) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// EnableOnly enables the add-on on all clusters without recording what that takes.
func EnableOnly(ctx context.Context, f *Fleet) error {
	f.say("   %s is enabled on all clusters", f.Subject.Name)
	if err := f.enable(ctx, toAll); err != nil {
		return err
	}
	return f.awaitWith(ctx, available, f.Clusters)
}
