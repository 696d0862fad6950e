package steps

import (
	"context"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"open-cluster-management.io/helloworld-addon/test/bench/procfs"
	"open-cluster-management.io/helloworld-addon/test/fleet/board"
	"open-cluster-management.io/helloworld-addon/test/fleet/controller"
	"open-cluster-management.io/helloworld-addon/test/fleet/flows"
	"open-cluster-management.io/helloworld-addon/test/fleet/record"
	"open-cluster-management.io/helloworld-addon/test/fleet/scrape"
)

// of is a fleet of two clusters that records figures of the add-on.
func of(t *testing.T) *Fleet {
	t.Helper()
	f := &Fleet{Options: Options{Clusters: []string{"a", "b"}, Subject: Subject{Name: record.Ours, Metrics: true}, Record: &record.Record{Size: 2}}}
	f.board = board.New()
	return f
}

func value(f *Fleet, metric, stat string) float64 {
	for _, figure := range f.Record.Figures {
		if figure.Metric == metric && figure.Stat == stat {
			return figure.Value
		}
	}
	return math.NaN()
}

func TestShippedLag(t *testing.T) {
	start := time.Unix(1000, 0)
	for _, c := range []struct {
		name, why        string
		configured, sent map[string]int // seconds after the start
		want             float64
	}{
		{"all", "the last of each counts", map[string]int{"a": 1, "b": 4}, map[string]int{"a": 9, "b": 5}, 5},
		{"a ManifestWork is missing", "the last one never came", map[string]int{"a": 1, "b": 4}, map[string]int{"a": 5}, math.NaN()},
		{"no ManifestWork", "there is no time", map[string]int{"a": 1, "b": 4}, nil, math.NaN()},
		{"a cluster is not configured", "there is no begin", map[string]int{"a": 1}, map[string]int{"a": 5, "b": 6}, math.NaN()},
	} {
		f := of(t)
		for cluster, after := range c.configured {
			f.board.Mark(configured, cluster, start.Add(time.Duration(after)*time.Second))
		}
		for cluster, after := range c.sent {
			f.board.Mark(shipped, cluster, start.Add(time.Duration(after)*time.Second))
		}
		if got := f.shippedLag(); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s (%s): got %v, want %v", c.name, c.why, got, c.want)
		}
	}
}

// TestOtherLeader: the counters of a process begin at zero, so no figure is a difference between two processes.
func TestOtherLeader(t *testing.T) {
	at := func(pid int, cpu time.Duration, throttled, heap float64) state {
		return state{at: time.Unix(1000, 0).Add(cpu), leader: procfs.Usage{PID: pid, CPU: cpu}, controller: flows.Counts{"events": cpu.Seconds()}, agents: flows.Counts{}, ocm: flows.Counts{},
			own: scrape.Metrics{controller.ThrottledMetric: {{Value: throttled}}, controller.HeapMetric: {{Value: heap}}}}
	}
	f := of(t)
	f.cost(record.Enable, at(7, time.Second, 1, 1024), at(7, 3*time.Second, 1.5, 5120))
	f.idle(at(7, time.Second, 0, 0), at(7, 2*time.Second, 0, 0))
	for metric, want := range map[string]float64{record.ControllerCPU: 1000, record.Throttled: 0.5, record.HeapGrowth: 2} {
		if got := value(f, metric, ""); got != want {
			t.Errorf("one process: %s is %v, want %v", metric, got, want)
		}
	}
	if got := value(f, record.IdleCPU, "controller"); got != 1000 || len(f.Record.Failures) > 0 {
		t.Errorf("one process: CPU while idle is %v, failures %q", got, f.Record.Failures)
	}

	f = of(t)
	f.cost(record.Enable, at(7, 3*time.Second, 5, 5120), at(8, time.Second, 0, 1024))
	f.idle(at(7, time.Second, 0, 0), at(8, 2*time.Second, 0, 0))
	for _, metric := range []string{record.ControllerCPU, record.Throttled, record.HeapGrowth} {
		if got := value(f, metric, ""); !math.IsNaN(got) {
			t.Errorf("another process leads: %s is %v", metric, got)
		}
	}
	if got := value(f, record.IdleCPU, "controller"); !math.IsNaN(got) {
		t.Errorf("another process leads: CPU while idle is %v", got)
	}
	if got := strings.Join(f.Record.Failures, "\n"); strings.Count(got, "another process leads") != 2 {
		t.Errorf("another process leads: the failures are %q", got)
	}
}

// TestPartOfTheFleet: the aims are for an add-on on all clusters, and the API server works for all of them meanwhile.
func TestPartOfTheFleet(t *testing.T) {
	at := func(cpu time.Duration, requests float64) state {
		return state{leader: procfs.Usage{PID: 7, CPU: cpu}, controller: flows.Counts{"events": requests},
			tree: map[string]procfs.Usage{apiServer: {CPU: 10 * cpu}}, own: scrape.Metrics{controller.ThrottledMetric: {{Value: 10 * cpu.Seconds()}}}}
	}
	for _, c := range []struct {
		step     string
		enableOn int
		server   float64
		aims     int
	}{{record.Enable, 0, 10000, 2}, {record.EnablePart, 2, math.NaN(), 1}} { // requests, and on all clusters throttling
		f := of(t)
		f.Record.Size, f.EnableOn = 200, c.enableOn
		f.cost(c.step, at(0, 0), at(2*time.Second, 20))
		if got := value(f, record.ServerCPU, ""); got != c.server && !(math.IsNaN(got) && math.IsNaN(c.server)) {
			t.Errorf("%s: the API server's CPU time is %v, want %v", c.step, got, c.server)
		}
		var aims int
		for _, figure := range f.Record.Figures {
			if figure.Step != c.step {
				t.Errorf("%s: a figure of the step %s", c.step, figure.Step)
			}
			if figure.Aim != "" {
				aims++
			}
		}
		if aims != c.aims {
			t.Errorf("%s: %d figures have an aim, want %d", c.step, aims, c.aims)
		}
	}
}

func TestSpan(t *testing.T) {
	start := time.Unix(1000, 0)
	f := of(t)
	if got, n := f.span(renewedOCM, renewedAddOn); !math.IsNaN(got) || n != 0 {
		t.Errorf("nothing was renewed: got %v s of %d", got, n)
	}
	f.board.Mark(renewedOCM, "a", start.Add(5*time.Second))
	f.board.Mark(renewedAddOn, "b", start)
	f.board.Mark(renewedOCM, "b", start.Add(9*time.Second))
	if got, n := f.span(renewedOCM, renewedAddOn); got != 9 || n != 3 {
		t.Errorf("from the first to the last of both: got %v s of %d", got, n)
	}
}

// TestFloorEnds: a step that fails ends the floor, too, and without a floor nothing is written.
func TestFloorEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // no copy comes
	f := of(t)
	f.kube, f.Out = fake.NewClientset(), io.Discard
	f.FloorUntil = filepath.Join(t.TempDir(), "ended")
	if err := Change(ctx, f); err == nil {
		t.Error("no copy came, and the step did not fail")
	}
	if _, err := os.Stat(f.FloorUntil); err != nil {
		t.Errorf("the floor goes on: %v", err)
	}
	if err := of(t).endFloor(); err != nil {
		t.Errorf("without a floor: %v", err)
	}
}

// TestCostOfSet: requests are counted by kind, and those of every program alike are left out.
func TestCostOfSet(t *testing.T) {
	before := spent{sets: flows.Counts{"create configmaps": 1, flows.Leases: 1}, agents: flows.Counts{"others": 3}, used: procfs.Usage{PID: 7, CPU: time.Second}}
	after := spent{sets: flows.Counts{"create configmaps": 5, flows.Leases: 9, "events": 2}, agents: flows.Counts{"others": 7, flows.Watches: 5},
		used: procfs.Usage{PID: 7, CPU: 2 * time.Second, RSS: 3 * mebibyte}, heap: 2 * mebibyte}
	f := of(t)
	f.costOfSet(before, after)
	for stat, want := range map[string]float64{record.All: 3, "create configmaps": 2, "events": 1, "add-on agents": 2, "add-on agents, others": 2} {
		if got := value(f, record.SetRequests, stat); got != want {
			t.Errorf("%s: got %v requests per cluster, want %v", stat, got, want)
		}
	}
	if got := value(f, record.SetRequests, flows.Leases); !math.IsNaN(got) {
		t.Errorf("leases are shown: %v", got)
	}
	for metric, want := range map[string]float64{record.SetCPU: 500, record.SetHeap: 2} {
		if got := value(f, metric, ""); got != want {
			t.Errorf("%s: got %v, want %v", metric, got, want)
		}
	}
	f = of(t)
	after.used.PID = 8
	f.costOfSet(before, after)
	if got := value(f, record.SetCPU, ""); !math.IsNaN(got) {
		t.Errorf("another process runs than before: its CPU time is %v", got)
	}
}

// TestIdleOfSets: a request misses the aim, whichever program sends it, and upkeep is none.
func TestIdleOfSets(t *testing.T) {
	start := time.Unix(1000, 0)
	before := spent{at: start}
	after := spent{at: start.Add(30 * time.Second), sets: flows.Counts{flows.Watches: 3}, controller: flows.Counts{flows.Leases: 6}, agents: flows.Counts{"others": 2}}
	f := of(t)
	f.idleOfSets(before, after)
	for program, want := range map[string]float64{"replicaset controller": 0, "controller": 0, "add-on agents": 4} {
		if got := value(f, record.IdleRequests, program); got != want {
			t.Errorf("%s: got %v requests per minute, want %v", program, got, want)
		}
	}
	if missed, _ := f.Record.Missed(); len(missed) != 1 || !strings.Contains(missed[0], "add-on agents") {
		t.Errorf("missed: %q", missed)
	}
}
