package measure

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/test/fleet/controller"
	"open-cluster-management.io/helloworld-addon/test/fleet/flows"
	"open-cluster-management.io/helloworld-addon/test/fleet/hub"
	"open-cluster-management.io/helloworld-addon/test/fleet/record"
	"open-cluster-management.io/helloworld-addon/test/fleet/scrape"
)

// samples returns metrics with these values. The keys 200, 409 and <error> are the codes of requests, the others names.
func samples(values map[string]float64) scrape.Metrics {
	m := scrape.Metrics{}
	for name, value := range values {
		sample := scrape.Sample{Value: value}
		if name == "200" || name == "409" || name == "<error>" {
			sample.Labels, name = map[string]string{"code": name, "method": "PATCH"}, requestsMetric
		}
		m[name] = append(m[name], sample)
	}
	return m
}

// of returns a figure of the step with an aim, which it meets or not; an empty aim is none.
func of(metric, stat, unit string, value float64, aim string, pass bool) record.Figure {
	f := record.Figure{Step: record.Hub, Metric: metric, Stat: stat, Unit: unit, Subject: record.Ours, Value: value, Aim: aim}
	if aim != "" {
		f.Pass = &pass
	}
	return f
}

// TestAddCost: what a controller sends however many clusters there are is not among the costs of a cluster, and what came before
// is none of them. The heap is that of the idle controller.
func TestAddCost(t *testing.T) {
	begin := time.Unix(1000, 0)
	before := state{begin, flows.Counts{"patch manifestworks": 4, flows.Leases: 1}, samples(map[string]float64{controller.HeapMetric: 1 << 20, cpuMetric: 1, controller.ThrottledMetric: 1, "409": 2})}
	after := state{begin.Add(time.Minute), flows.Counts{"patch manifestworks": 10, "events": 3, "get manifestworks": 0, flows.Leases: 100, flows.Watches: 50, "authentication.k8s.io": 7},
		samples(map[string]float64{controller.HeapMetric: 2 << 20, cpuMetric: 1.5, controller.ThrottledMetric: 3, "409": 3, "<error>": 2, "200": 9})}
	idle := state{begin.Add(3 * time.Minute), flows.Counts{"patch manifestworks": 10, "events": 6, flows.Leases: 200}, samples(map[string]float64{controller.HeapMetric: 3 << 20})}
	r := &record.Record{Size: 2}
	addCost(r, before, after)
	addIdle(r, before, after, idle)
	want := []record.Figure{
		of(record.EnableRequests, record.All, "requests", 4.5, "≤ 12", true), of(record.EnableRequests, "events", "requests", 1.5, "", false),
		of(record.EnableRequests, "patch manifestworks", "requests", 3, "", false),
		of(record.Refused, "409", "requests", 1, "", false), of(record.Refused, "none", "requests", 2, "", false), of(record.Refused, record.All, "requests", 3, "", false),
		of(record.Throttled, "", "s", 2, "≤ 1", false), of(record.ControllerCPU, "", "ms", 250, "", false),
		of(record.HeapGrowth, "", "KiB", 1024, "", false), of(record.Heap, "", "MiB", 3, "", false),
		of(record.IdleRequests, "controller", "per min", 1.5, "≤ 0", false),
	}
	if diff := cmp.Diff(want, r.Figures); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNothingCounted: a metric that is not there is no zero.
func TestNothingCounted(t *testing.T) {
	nothing := state{requests: flows.Counts{}, metrics: scrape.Metrics{}}
	r := &record.Record{Size: 2}
	addCost(r, nothing, nothing)
	addIdle(r, nothing, nothing, state{at: nothing.at.Add(time.Minute), requests: flows.Counts{}, metrics: scrape.Metrics{}})
	if len(r.Failures) != 3 { // requests, throttling and idle requests
		t.Errorf("failures: %q", r.Failures)
	}
	if diff := cmp.Diff([]record.Figure{of(record.Refused, record.All, "requests", 0, "", false)}, r.Figures); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAddTimes: the lag is between the last ones, whichever cluster they are of.
func TestAddTimes(t *testing.T) {
	begin := time.Unix(1000, 0)
	at := func(one, two float64) map[string]time.Time {
		return map[string]time.Time{"one": begin.Add(time.Duration(one * float64(time.Second))), "two": begin.Add(time.Duration(two * float64(time.Second)))}
	}
	times := hub.Times{Configured: at(3, 1), Shipped: at(4, 5), Approved: at(6, 6), Applied: at(7, 8)}
	r := &record.Record{Size: 2}
	addTimes(r, begin, times)
	var want []record.Figure
	for _, m := range []struct {
		metric    string
		half, all float64
	}{{record.Configured, 1, 3}, {record.Shipped, 4, 5}, {record.Approved, 6, 6}, {record.Applied, 7, 8}} {
		want = append(want, of(m.metric, record.P50, "s", m.half, "", false), of(m.metric, record.P99, "s", m.all, "", false), of(m.metric, record.All, "s", m.all, "", false))
	}
	want = append(want, of(record.ShippedLag, "", "s", 2, "≤ 5", true))
	if diff := cmp.Diff(want, r.Figures); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	delete(times.Approved, "two")
	r = &record.Record{Size: 2}
	addTimes(r, begin, times)
	if len(r.Failures) != 1 {
		t.Errorf("one of two clusters has no certificate: failures %q", r.Failures)
	}
}
