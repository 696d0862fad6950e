package report

import (
	"fmt"
	"math"
)

// The metrics that have an aim.
const (
	ChangeLatency   = "change latency"
	DeletionLatency = "deletion latency"
	BulkRate        = "bulk rate"
	IdleHub         = "idle requests, hub"
	IdleManaged     = "idle requests, managed cluster"
	IdleCPU         = "idle CPU"
	RSSAnon         = "RssAnon"
	RSSAnonGrowth   = "RssAnon per further ConfigMap"
)

// ReadsAndWrites is the stat of requests that are neither watches nor for leases.
const ReadsAndWrites = "reads and writes"

// aim is what the add-on should reach: a number times a figure, or the figure
// itself when of is nil.
type aim struct {
	metric, stat string
	// setting, when given, is the only one that the aim is for.
	setting string
	of      func(all map[string]map[key]Row, k key) Number
	ofWhat  string
	limit   float64
	atLeast bool
}

var aims = []aim{
	{metric: ChangeLatency, stat: "p50", of: ofFloor, ofWhat: "× floor", limit: 1.1},
	{metric: ChangeLatency, stat: "p99", of: ofFloor, ofWhat: "× floor", limit: 2},
	{metric: DeletionLatency, stat: "p50", of: ofChange, ofWhat: "× its change", limit: 1},
	{metric: BulkRate, of: ofFloor, ofWhat: "× floor", limit: 0.9, atLeast: true},
	{metric: IdleHub, stat: ReadsAndWrites, limit: 0},
	{metric: IdleManaged, stat: ReadsAndWrites, limit: 0},
	{metric: IdleCPU, stat: "millicores", limit: 2.5},
	{metric: RSSAnon, setting: "1,001 ConfigMaps", limit: 10},
	{metric: RSSAnonGrowth, limit: 3},
}

// ofFloor is the same figure of the floor.
func ofFloor(all map[string]map[key]Row, k key) Number { return value(all[Floor], k) }

// ofChange is the add-on's own latency of a change, by the same stat, with no
// other ConfigMaps there: the first one measured.
func ofChange(all map[string]map[key]Row, k key) Number {
	for candidate, row := range all[Ours] {
		if candidate.metric == ChangeLatency && candidate.stat == k.stat && !isAmongOthers(candidate.setting) {
			return row.Value
		}
	}
	return Missing()
}

func value(rows map[key]Row, k key) Number {
	if row, ok := rows[k]; ok {
		return row.Value
	}
	return Missing()
}

// against puts the add-on's figure beside its aim; empty when there is none.
func against(all map[string]map[key]Row, k key) string {
	for _, a := range aims {
		if a.metric != k.metric || a.stat != "" && a.stat != k.stat || a.setting != "" && a.setting != k.setting {
			continue
		}
		got := value(all[Ours], k)
		if a.of != nil {
			reference := a.of(all, k)
			if !reference.Known() || reference == 0 {
				return ""
			}
			got /= reference
		}
		if !got.Known() {
			return ""
		}
		bound := "at most"
		if a.atLeast {
			bound = "at least"
		}
		what := ""
		if a.ofWhat != "" {
			what = " " + a.ofWhat
		}
		return fmt.Sprintf("%s%s (aim: %s %s)", ratio(float64(got)), what, bound, short(a.limit))
	}
	return ""
}

func ratio(x float64) string { return fmt.Sprintf("%.2f", x) }

// short leaves out zeros behind the point.
func short(x float64) string {
	if x == math.Trunc(x) {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.1f", x)
}
