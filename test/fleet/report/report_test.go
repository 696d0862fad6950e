package report

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/test/fleet/record"
)

var update = flag.Bool("update", false, "write the golden files")

// runOf is a run of a size with figures of every kind.
func runOf(size int, factor float64) *record.Record {
	r := &record.Record{Size: size, Started: time.Unix(1000, 0), Machine: record.Machine{CPUs: 2, MemoryMiB: 24000, System: "linux/amd64", Kernel: "6.1", Load: 0.2},
		Versions: map[string]string{"Kubernetes": "v1.34.4", "OCM": "v1.2.1"}, Command: "make bench-fleet CLUSTERS=" + count(size)}
	n := float64(size)
	r.Judge(record.Figure{Step: record.Join, Metric: record.FleetStart, Unit: "s", Value: n / 10}, record.AtMost(300).For(0, 1000))
	for i, stat := range []string{record.P50, record.P99, record.All} {
		for _, subject := range []string{record.Ours, record.Rival} {
			r.Add(record.Figure{Step: record.Enable, Metric: record.Shipped, Stat: stat, Unit: "s", Subject: subject, Value: n / 100 * float64(i+1)})
		}
	}
	r.Judge(record.Figure{Step: record.Enable, Metric: record.EnableRequests, Stat: record.All, Unit: "requests", Value: 11 * factor}, record.AtMost(12))
	r.Add(record.Figure{Step: record.Enable, Metric: record.EnableRequests, Stat: "patch managedclusteraddons/status", Unit: "requests", Value: 5})
	r.Judge(record.Figure{Step: record.Hub, Metric: record.EnableRequests, Stat: record.All, Unit: "requests", Value: 10}, record.AtMost(12))
	r.Add(record.Figure{Step: record.Enable, Metric: record.RSS, Stat: "hub", Unit: "MiB", Value: 500 + n})
	r.Add(record.Figure{Step: record.Enable, Metric: record.RSS, Stat: "simulator", Unit: "MiB", Value: 100 + 2*n})
	for i, stat := range []string{record.P50, record.P90, record.All} {
		r.Add(record.Figure{Step: record.Distribute, Metric: record.SetToPart, Stat: stat, Unit: "s", Value: float64(i+1) * factor})
	}
	return r
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s has changed (-want +got), -update when it was meant to:\n%s", name, diff)
	}
}

func TestMarkdown(t *testing.T) {
	large := runOf(5000, 1.5)
	large.Failures = []string{"idle: the API server did not answer"}
	golden(t, "report.txt", Markdown([]*record.Record{large, runOf(100, 1), runOf(1000, 1.05)}, "fleet"))
	for _, c := range Charts([]*record.Record{large, runOf(100, 1), runOf(1000, 1.05)}) {
		golden(t, c.File, c.SVG())
	}
}

func TestInsert(t *testing.T) {
	page := "before\n" + begin + "\nold\n" + end + "\nafter\n"
	want := "before\n" + begin + "\nnew\n" + end + "\nafter\n"
	for range 2 { // a second time changes nothing
		got, err := Insert(page, "new\n")
		if err != nil || got != want {
			t.Fatalf("got %q, %v", got, err)
		}
		page = got
	}
	for _, wrong := range []string{"", begin + "\n", end} {
		if _, err := Insert(wrong, "new"); err == nil {
			t.Errorf("%q: no error", wrong)
		}
	}
}

// TestSort: a step that was run again replaces its figures, and nothing else.
func TestSort(t *testing.T) {
	of := func(started int64, step, subject string, value float64) *record.Record {
		r := &record.Record{Size: 100, Started: time.Unix(started, 0)}
		r.Add(record.Figure{Step: step, Metric: "m", Subject: subject, Value: value})
		return r
	}
	got := Sort([]*record.Record{of(3, "a", record.Ours, 3), of(1, "a", record.Ours, 1), of(2, "b", record.Ours, 2), of(4, "a", record.Rival, 4)})
	if len(got) != 1 {
		t.Fatalf("%d records of one size", len(got))
	}
	var values []float64
	for _, f := range got[0].Figures {
		values = append(values, f.Value)
	}
	slices.Sort(values)
	if diff := cmp.Diff([]float64{2, 3, 4}, values); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSeveralRunsOfASize: the page tells of every run, and of no failure of a step that came to its end later.
func TestSeveralRunsOfASize(t *testing.T) {
	of := func(started int64, version, step string, failures, notes []string) *record.Record {
		r := &record.Record{Size: 100, Started: time.Unix(started, 0), Command: "run " + version, Versions: map[string]string{"OCM": "v1.2.1", "x": version}, Failures: failures, Notes: notes}
		r.Add(record.Figure{Step: step, Metric: "m", Value: 1})
		return r
	}
	got := Markdown([]*record.Record{
		of(60, "v2", record.Idle, nil, nil),
		of(0, "v1", record.Enable, []string{"idle: first", "restart: second", "fleet: third"}, []string{"idle: of the rival"}),
	}, "fleet")
	for _, want := range []string{"00:00 UTC", "00:01 UTC", "| machine | x | command |\n| ---: | --- | --- | --- | --- |", "| v1 | `run v1`", "| v2 | `run v2`", "Versions: OCM v1.2.1.", "restart: second", "fleet: third", "idle: of the rival"} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "idle: first") {
		t.Errorf("the step idle was run again without a failure:\n%s", got)
	}
}

// TestEveryMetricIsDrawn compares the charts with the names of the metrics: a new one
// gets a chart, or is named here as a figure of the table alone.
func TestEveryMetricIsDrawn(t *testing.T) {
	tableOnly := []string{
		record.CutCopies, record.Reached, record.Renewed, record.AfterExpiry, record.Left, record.IdleWatches, // 0 or 1 when all is well
		record.Part, record.Early, record.Refused, record.Enabled,
	}
	var drawn []string
	for _, p := range plans {
		drawn = append(drawn, p.metrics...)
	}
	source, err := os.ReadFile(filepath.Join("..", "record", "metrics.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, metrics, _ := strings.Cut(string(source), "// The metrics.")
	metrics, _, _ = strings.Cut(metrics, "\n)")
	for text := range strings.Lines(metrics) {
		_, value, found := strings.Cut(text, " = \"")
		value, _, _ = strings.Cut(value, "\"")
		if found && !slices.Contains(drawn, value) && !slices.Contains(tableOnly, value) {
			t.Errorf("no chart draws %q", value)
		}
	}
}

// TestOneMetricInTwoSteps: the memory is measured before and after the add-on is enabled.
func TestOneMetricInTwoSteps(t *testing.T) {
	r := &record.Record{Size: 100}
	r.Add(record.Figure{Step: record.Join, Metric: record.RSS, Stat: "hub", Unit: "MiB", Value: 111})
	r.Add(record.Figure{Step: record.Enable, Metric: record.RSS, Stat: "hub", Unit: "MiB", Value: 222})
	page := Markdown([]*record.Record{r}, "fleet")
	_, enabled, _ := strings.Cut(page, "### 2.")
	if !strings.Contains(enabled, "| 222 |") || strings.Contains(enabled, "| 111 |") {
		t.Errorf("the table of a step has the figure of another:\n%s", page)
	}
}
