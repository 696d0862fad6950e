package steps

import (
	"context"

	"open-cluster-management.io/helloworld-addon/test/fleet/flows"
	"open-cluster-management.io/helloworld-addon/test/fleet/record"
)

// Idle watches the fleet while nothing changes.
func Idle(ctx context.Context, f *Fleet) error {
	f.say("3. the fleet of %s is idle for %s, after %s", f.Subject.Name, f.Times.Idle, f.Times.Settle)
	if err := f.pause(ctx, f.Times.Settle); err != nil {
		return err
	}
	before, err := f.state(ctx)
	if err != nil {
		return err
	}
	if err := f.pause(ctx, f.Times.Idle); err != nil {
		return err
	}
	after, err := f.state(ctx)
	if err != nil {
		return err
	}
	f.idle(before, after)
	return nil
}

func (f *Fleet) idle(before, after state) {
	elapsed := after.at.Sub(before.at)
	for _, program := range []struct {
		label    string
		from, to flows.Counts
		judged   bool
	}{
		{"controller", before.controller, after.controller, true},
		{"add-on agents", before.agents, after.agents, true},
		{"OCM's agents", before.ocm, after.ocm, false},
	} {
		if program.label == "add-on agents" && f.Subject.Name != record.Ours {
			continue // no agents of the rival run
		}
		since := program.to.Since(program.from)
		requests := f.figure(record.Idle, record.IdleRequests, program.label, "per min", since.Sum(flows.Upkeep...)/elapsed.Minutes())
		if program.judged {
			f.judge(requests, record.AtMost(0))
		} else {
			f.Record.Add(requests)
		}
		f.Record.Add(f.figure(record.Idle, record.IdleWatches, program.label, "per min", since[flows.Watches]/elapsed.Minutes()))
	}
	if f.sameLeader(record.Idle, before, after) {
		f.Record.Add(f.figure(record.Idle, record.IdleCPU, "controller", "millicores", millicores(before.leader.CPU, after.leader.CPU, elapsed)))
	}
	for _, program := range []struct{ name, label string }{
		{addOnsOf, "add-on agents"}, {simulator, "OCM's agents and the clusters' APIs"}, {apiServer, "API server"}, {etcd, "etcd"},
	} {
		if _, runs := after.tree[program.name]; runs {
			f.Record.Add(f.figure(record.Idle, record.IdleCPU, program.label, "millicores",
				millicores(before.tree[program.name].CPU, after.tree[program.name].CPU, elapsed)))
		}
	}
	n := float64(f.Size())
	f.Record.Add(f.figure(record.Idle, record.ServerMemory, "", "KiB", float64(after.tree[apiServer].RSS)/1024/n))
	f.Record.Add(f.figure(record.Idle, record.Watches, record.All, "watches", after.server.Sum(longRunning, "verb", "WATCH")/n))
	byResource := after.server.By("resource", longRunning, "verb", "WATCH")
	for _, resource := range sorted(byResource) {
		// what not every cluster has is the hub's
		if perCluster := byResource[resource] / n; perCluster >= 0.5 && f.Size() >= 100 {
			f.Record.Add(f.figure(record.Idle, record.Watches, resource, "watches", perCluster))
		}
	}
}
