package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

func rows() []Row {
	const setting, among = "300 changes", "300 changes, 1,000 others"
	return []Row{
		{Floor, ChangeLatency, setting, "p50", "ms", 10, ""},
		{Floor, ChangeLatency, among, "p50", "ms", 11, ""},
		{Floor, BulkRate, "2,000 ConfigMaps", "", "per s", 400, ""},
		{Ours, ChangeLatency, setting, "p50", "ms", 12.34, ""},
		{Ours, ChangeLatency, among, "p50", "ms", 22, ""},
		{Ours, DeletionLatency, "300 deletions", "p50", "ms", 12.34, ""},
		{Ours, BulkRate, "2,000 ConfigMaps", "", "per s", 360, ""},
		{Ours, IdleHub, "1,001 ConfigMaps", ReadsAndWrites, "per min", 0, ""},
		{Ours, IdleHub, "1,001 ConfigMaps", "watches", "per min", 1, ""},
		{Ours, RSSAnon, "1,001 ConfigMaps", "", "MB", 9.5, ""},
		{Rival, ChangeLatency, setting, "p50", "ms", 380, ""},
		{Rival, DeletionLatency, "300 deletions", "p50", "ms", Missing(), "3 not seen within 10s; gave up"},
		{Rival, BulkRate, "2,000 ConfigMaps", "", "per s", 2.5, "after 15m0s 1,503 of 2,000 copies are right"},
	}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	if err := Table(&out, rows()); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "table.txt")
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("the table has changed (-want +got), -update when it was meant to:\n%s", diff)
	}
}

func TestAgainst(t *testing.T) {
	one := func(subject, metric, setting, stat string, value float64) Row {
		return Row{Subject: subject, Metric: metric, Setting: setting, Stat: stat, Value: Number(value)}
	}
	cases := []struct {
		name, why string
		rows      []Row // the first one is compared
		want      string
	}{
		{"ratio", "a latency is compared with the floor's of the same setting and stat",
			[]Row{one(Ours, ChangeLatency, "a", "p99", 30), one(Floor, ChangeLatency, "a", "p99", 20), one(Floor, ChangeLatency, "b", "p99", 1)},
			"1.50 × floor (aim: at most 2)"},
		{"at least", "more is better for a rate",
			[]Row{one(Ours, BulkRate, "a", "", 90), one(Floor, BulkRate, "a", "", 100)}, "0.90 × floor (aim: at least 0.9)"},
		{"absolute", "memory has a limit of its own", []Row{one(Ours, RSSAnon, "1,001 ConfigMaps", "", 21.5)}, "21.50 (aim: at most 10)"},
		{"another setting", "the limit of memory is for a thousand ConfigMaps alone",
			[]Row{one(Ours, RSSAnon, "5,000 ConfigMaps", "", 21.5)}, ""},
		{"of its change", "a deletion is compared with a change, with no others there",
			[]Row{one(Ours, DeletionLatency, "d", "p50", 9), one(Ours, ChangeLatency, Among("c", 5), "p50", 1), one(Ours, ChangeLatency, "c", "p50", 10)},
			"0.90 × its change (aim: at most 1)"},
		{"no floor", "without the floor there is no ratio", []Row{one(Ours, ChangeLatency, "a", "p50", 30)}, ""},
		{"floor of nothing", "nothing is a multiple of zero",
			[]Row{one(Ours, BulkRate, "a", "", 90), one(Floor, BulkRate, "a", "", 0)}, ""},
		{"missing", "what did not happen reached no aim and missed none",
			[]Row{one(Ours, RSSAnon, "1,001 ConfigMaps", "", math.NaN())}, ""},
		{"no aim", "not every figure has one", []Row{one(Ours, ChangeLatency, "a", "p90", 30), one(Floor, ChangeLatency, "a", "p90", 30)}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			all := map[string]map[key]Row{}
			for _, row := range c.rows {
				if all[row.Subject] == nil {
					all[row.Subject] = map[key]Row{}
				}
				all[row.Subject][row.key()] = row
			}
			if got := against(all, c.rows[0].key()); got != c.want {
				t.Errorf("%s: got %q, want %q", c.why, got, c.want)
			}
		})
	}
}

func TestJSONKeepsTheRows(t *testing.T) {
	want := Document{
		Started: time.Unix(1000, 0).UTC(), Machine: Machine{CPUs: 2, Load: 0.25, System: "linux/amd64", Go: "go1.26"},
		Settings: map[string]string{"changes": "300"}, Rows: rows(),
	}
	var out bytes.Buffer
	if err := JSON(&out, want); err != nil {
		t.Fatal(err)
	}
	var got Document
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	same := cmp.Comparer(func(a, b Number) bool { return a == b || !a.Known() && !b.Known() })
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func TestBusy(t *testing.T) {
	cases := []struct {
		name, why string
		machine   Machine
		want      bool
	}{
		{"quiet", "little runs beside the benchmark", Machine{CPUs: 2, Load: 0.4}, false},
		{"half", "half of the processors busy already changes the latencies", Machine{CPUs: 2, Load: 1.1}, true},
		{"unknown", "what is not known is not told", Machine{CPUs: 2, Load: Missing()}, false},
	}
	for _, c := range cases {
		if got := c.machine.Busy() != ""; got != c.want {
			t.Errorf("%s (%s): got %q", c.name, c.why, c.machine.Busy())
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := Count(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}
