package steps

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/helloworld-addon/test/bench/procfs"
	"open-cluster-management.io/helloworld-addon/test/fleet/controller"
	"open-cluster-management.io/helloworld-addon/test/fleet/flows"
	"open-cluster-management.io/helloworld-addon/test/fleet/record"
)

// mirrored is the event of a cluster that has a ConfigMapMirror.
const mirrored = "ConfigMapMirror"

// reportedSynced is the event of a cluster whose agent reports a ConfigMap with a revision as synced.
func reportedSynced(name, revision string) string {
	return "report of " + name + " with " + revision
}

func (f *Fleet) seenMirror(object *unstructured.Unstructured) {
	now, cluster := time.Now(), object.GetNamespace()
	f.board.Mark(mirrored, cluster, now)
	entries, _, _ := unstructured.NestedSlice(object.Object, "status", "configMaps")
	for _, e := range entries {
		entry, ok := e.(map[string]any)
		if !ok || entry["state"] != "Synced" {
			continue
		}
		name, _ := entry["name"].(string)
		if revision, _ := entry["revision"].(string); revision != "" {
			f.board.Mark(reportedSynced(name, revision), cluster, now)
		}
	}
}

// spent is what sets have cost until a moment.
type spent struct {
	at time.Time
	// controller, agents and sets are requests: of the add-on's controller and agents, and of the controller of
	// ConfigMapReplicaSets, whose process and live heap used and heap are.
	controller, agents, sets flows.Counts
	used                     procfs.Usage
	heap                     float64
}

func (f *Fleet) spent(ctx context.Context) (s spent, err error) {
	s.at = time.Now()
	server, err := f.serverMetrics(ctx)
	if err != nil {
		return s, err
	}
	s.controller, s.agents, s.sets = f.ofController.Count(server), f.ofAgents.Count(server), f.ofReplicaSets.Count(server)
	if s.used, err = f.replicaSets.Usage(); err != nil {
		return s, err
	}
	own, err := f.replicaSets.Metrics(ctx, controller.HeapMetric)
	s.heap = own.Sum(controller.HeapMetric)
	return s, err
}

// costOfSet records what it took to write to all clusters.
func (f *Fleet) costOfSet(before, after spent) {
	n := float64(f.Size())
	for _, program := range []struct {
		all, prefix string
		requests    flows.Counts
	}{{record.All, "", after.sets.Since(before.sets)}, {"add-on agents", "add-on agents, ", after.agents.Since(before.agents)}} {
		f.Record.Add(f.figure(record.Distribute, record.SetRequests, program.all, "requests", program.requests.Sum(flows.Upkeep...)/n))
		for _, kind := range sorted(program.requests) {
			if program.requests[kind] > 0 && !slices.Contains(flows.Upkeep, kind) {
				f.Record.Add(f.figure(record.Distribute, record.SetRequests, program.prefix+kind, "requests", program.requests[kind]/n))
			}
		}
	}
	if before.used.PID == after.used.PID {
		f.Record.Add(f.figure(record.Distribute, record.SetCPU, "", "ms", float64((after.used.CPU-before.used.CPU).Milliseconds())/n))
	}
	f.Record.Add(f.figure(record.Distribute, record.SetHeap, "", "MiB", after.heap/mebibyte))
	f.Record.Add(f.figure(record.Distribute, record.RSS, "replicaset controller", "MiB", float64(after.used.RSS)/mebibyte))
}

// idleSets watches the fleet for a minute at most while nothing changes.
func (f *Fleet) idleSets(ctx context.Context, before spent) error {
	d := min(time.Minute, f.Times.Idle)
	f.say("   nothing changes for %s", d)
	if err := f.pause(ctx, d); err != nil {
		return err
	}
	after, err := f.spent(ctx)
	if err == nil {
		f.idleOfSets(before, after)
	}
	return err
}

func (f *Fleet) idleOfSets(before, after spent) {
	elapsed := after.at.Sub(before.at).Minutes()
	for _, program := range []struct {
		label    string
		from, to flows.Counts
	}{
		{"replicaset controller", before.sets, after.sets}, {"controller", before.controller, after.controller}, {"add-on agents", before.agents, after.agents},
	} {
		figure := f.figure(record.Distribute, record.IdleRequests, program.label, "per min", program.to.Since(program.from).Sum(flows.Upkeep...)/elapsed)
		f.Record.Judge(figure, record.AtMost(0))
	}
}
