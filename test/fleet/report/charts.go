package report

import (
	"slices"

	"open-cluster-management.io/helloworld-addon/test/fleet/chart"
	"open-cluster-management.io/helloworld-addon/test/fleet/record"
)

// Chart is a chart with its file's name.
type Chart struct {
	File string
	chart.Chart

	step string
}

// plan names what a chart draws. Metrics of one chart have one unit.
type plan struct {
	step, file, title string
	metrics           []string
	// stats are those that are drawn; none means all.
	stats []string
}

var plans = []plan{
	{record.Join, "join.svg", "N clusters join", []string{record.FleetStart, record.Joined}, nil},
	{record.Enable, "enable.svg", "Enabled on all: until the last cluster is", []string{record.Configured, record.Shipped, record.Approved, record.Copied, record.Available}, []string{record.All}},
	{record.Enable, "enable-p50.svg", "Enabled on all: until half of the clusters are", []string{record.Configured, record.Shipped, record.Approved, record.Copied, record.Available}, []string{record.P50}},
	{record.Enable, "enable-lag.svg", "Last ManifestWork after OCM configured the last", []string{record.ShippedLag}, nil},
	{record.Enable, "enable-requests.svg", "Controller's requests to enable a cluster", []string{record.EnableRequests}, []string{record.All}},
	{record.Enable, "enable-throttled.svg", "Controller waited for its own request limit", []string{record.Throttled}, nil},
	{record.Enable, "enable-cpu.svg", "CPU time to enable a cluster", []string{record.ControllerCPU, record.ServerCPU}, nil},
	{record.Enable, "heap.svg", "Controller's live heap", []string{record.Heap}, nil},
	{record.Enable, "heap-per-cluster.svg", "Controller's live heap per cluster", []string{record.HeapGrowth}, nil},
	{record.Enable, "memory.svg", "Resident memory, add-on enabled", []string{record.RSS}, nil},
	{record.Hub, "hub.svg", "The hub alone: until the last cluster is", []string{record.Configured, record.Shipped, record.Approved, record.Applied}, []string{record.All}},
	{record.Hub, "hub-lag.svg", "The hub alone: last ManifestWork after OCM configured the last", []string{record.ShippedLag}, nil},
	{record.Hub, "hub-requests.svg", "The hub alone: controller's requests to enable a cluster", []string{record.EnableRequests}, []string{record.All}},
	{record.Hub, "hub-cpu.svg", "The hub alone: controller's CPU time to enable a cluster", []string{record.ControllerCPU}, nil},
	{record.Hub, "hub-heap-per-cluster.svg", "The hub alone: controller's live heap per cluster", []string{record.HeapGrowth}, nil},
	{record.Idle, "idle-requests.svg", "Requests per minute while idle, leases and watches apart", []string{record.IdleRequests}, nil},
	{record.Idle, "idle-cpu.svg", "CPU while idle", []string{record.IdleCPU}, nil},
	{record.Idle, "idle-server-memory.svg", "API server's memory per cluster", []string{record.ServerMemory}, nil},
	{record.Idle, "idle-watches.svg", "Watches per cluster", []string{record.Watches}, []string{record.All}},
	{record.Change, "change.svg", "Hub write to copy, one change in every cluster", []string{record.CopyTime}, nil},
	{record.Change, "change-ratio.svg", "p99 of hub write to copy, against the floor", []string{record.AgainstFloor}, nil},
	{record.Restart, "restart.svg", "Restarts", []string{record.ControllerBack, record.Takeover, record.AgentsBack}, []string{"", record.All}},
	{record.Restart, "restart-peak.svg", "Peak requests after the API server's restart", []string{record.PeakRate}, nil},
	{record.Restart, "restart-lists.svg", "Lists per watch after the API server's restart", []string{record.ListsPerWatch}, nil},
	{record.Restart, "cut.svg", "A tenth of the clusters is cut and comes back", []string{record.OthersCopy, record.CatchUp}, []string{record.P99, record.All}},
	{record.Rollout, "rollout.svg", "A configuration in three groups", []string{record.RolledOut, record.Stopped, record.Mended}, []string{"", record.All}},
	{record.Rotate, "rotate.svg", "Every certificate rotates", []string{record.RenewalSpan}, nil},
	{record.Turnover, "turnover.svg", "A tenth leaves, and others join", []string{record.Detached, record.Replaced}, []string{record.All}},
	{record.Distribute, "distribute.svg", "ConfigMapReplicaSet: until the last report of synced", []string{record.SetToPart, record.SetInStages, record.SetToAll, record.WrittenToAll}, []string{record.All}},
	{record.Distribute, "distribute-p90.svg", "ConfigMapReplicaSet: until 90 % of the clusters reported synced", []string{record.SetToPart, record.SetInStages, record.SetToAll, record.WrittenToAll}, []string{record.P90}},
	{record.Distribute, "distribute-ratio.svg", "ConfigMapReplicaSet on all clusters against bare writes", []string{record.AgainstWrites}, nil},
	{record.Distribute, "distribute-requests.svg", "Requests per cluster for a ConfigMapReplicaSet", []string{record.SetRequests}, []string{record.All}},
	{record.Distribute, "distribute-cpu.svg", "Replicaset controller's CPU time per cluster", []string{record.SetCPU}, nil},
	{record.Distribute, "distribute-memory.svg", "Replicaset controller's memory", []string{record.SetHeap, record.RSS}, nil},
}

// Charts returns the charts of the figures that were measured.
func Charts(records []*record.Record) []Chart {
	records = Sort(records)
	var charts []Chart
	for _, p := range plans {
		c := chart.Chart{Title: p.title, Axis: "managed clusters"}
		for _, row := range seriesOf(records, p) {
			series := chart.Series{Name: row.name(p), Dashed: row.key.Subject != record.Ours}
			for _, r := range records {
				if value, ok := r.Value(row.key); ok {
					series.Points = append(series.Points, chart.Point{Size: r.Size, Value: value})
				}
			}
			c.Unit = row.key.Unit
			c.Series = append(c.Series, series)
		}
		if len(c.Series) == 0 {
			continue
		}
		c.Log = chart.Spans(c.Series)
		charts = append(charts, Chart{File: p.file, Chart: c, step: p.step})
	}
	return charts
}

// line is what one line of a chart draws.
type line struct{ key record.Key }

// name is the line's label: what tells it from the chart's others.
func (l line) name(p plan) string {
	var name string
	if len(p.metrics) > 1 {
		name = l.key.Metric
	}
	if l.key.Stat != "" && !slices.Equal(slices.DeleteFunc(slices.Clone(p.stats), func(stat string) bool { return stat == "" }), []string{l.key.Stat}) {
		name = join(name, l.key.Stat)
	}
	if l.key.Subject != record.Ours || name == "" {
		name = join(name, l.key.Subject)
	}
	return name
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}

// seriesOf are the chart's lines in the order of its metrics.
func seriesOf(records []*record.Record, p plan) []line {
	var lines []line
	for _, metric := range p.metrics {
		for _, r := range records {
			for _, f := range r.Figures {
				if f.Step != p.step || f.Metric != metric || len(p.stats) > 0 && !slices.Contains(p.stats, f.Stat) {
					continue
				}
				if !slices.Contains(lines, line{f.Key()}) {
					lines = append(lines, line{f.Key()})
				}
			}
		}
	}
	return lines
}
