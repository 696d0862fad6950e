package record

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestJudge(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		name, why string
		size      int
		value     float64
		aim       Aim
		want      *bool
		text      string
	}{
		{"at the limit", "the limit itself is good", 100, 12, AtMost(12), &yes, "≤ 12"},
		{"above", "more than the limit misses it", 100, 12.1, AtMost(12), &no, "≤ 12"},
		{"at least", "a rate has a lower limit", 100, 9, AtLeast(10), &no, "≥ 10"},
		{"too small a fleet", "20 clusters have no p99 to speak of", 20, 9, AtMost(1.3).For(100, 1000), nil, ""},
		{"too large a fleet", "the start of 5,000 has no aim", 5000, 900, AtMost(300).For(0, 1000), nil, ""},
		{"at the bound", "the aim is stated for 1,000", 1000, 200, AtMost(300).For(0, 1000), &yes, "≤ 300"},
	} {
		r := &Record{Size: c.size}
		r.Judge(Figure{Step: "s", Metric: "m", Unit: "u", Value: c.value}, c.aim)
		if len(r.Figures) != 1 || !cmp.Equal(r.Figures[0].Pass, c.want) || r.Figures[0].Aim != c.text {
			t.Errorf("%s (%s): got %+v", c.name, c.why, r.Figures)
		}
	}
}

func TestWhatIsMissingIsAMiss(t *testing.T) {
	r := &Record{Size: 100}
	r.Add(Figure{Step: "s", Metric: "rate", Value: math.NaN()})
	if len(r.Figures) > 0 {
		t.Errorf("a value that is no number: got the figure %v", r.Figures)
	}
	r.Judge(Figure{Step: "s", Metric: "ratio", Value: math.NaN()}, AtMost(1))
	if missed, _ := r.Missed(); len(missed) != 1 || !strings.Contains(missed[0], "ratio") {
		t.Errorf("a figure with an aim was not measured: missed is %q", missed)
	}
}

// TestMissed: a slower machine is no failure.
func TestMissed(t *testing.T) {
	r := &Record{Failures: []string{"idle: no answer"}}
	for _, metric := range []string{Throttled, ShippedLag} {
		r.Judge(Figure{Step: "enable", Metric: metric, Unit: "s", Value: 13}, AtMost(12))
		r.Judge(Figure{Step: "enable", Metric: metric, Unit: "s", Value: 12}, AtMost(12))
	}
	failures, ofThisMachine := r.Missed()
	if diff := cmp.Diff([]string{"idle: no answer", "enable: " + Throttled + " of ours is 13 s, aim ≤ 12"}, failures); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"enable: " + ShippedLag + " of ours is 13 s, aim ≤ 12"}, ofThisMachine); diff != "" {
		t.Errorf("of this machine (-want +got):\n%s", diff)
	}
}

func TestLatencies(t *testing.T) {
	var samples []time.Duration
	for i := range 100 {
		samples = append(samples, time.Duration(100-i)*time.Second)
	}
	r := &Record{Size: 100}
	r.Latencies(Figure{Step: "s", Metric: "m", Unit: "s"}, samples, 100)
	want := map[string]float64{P50: 50, P99: 99, All: 100}
	got := map[string]float64{}
	for _, f := range r.Figures {
		got[f.Stat] = f.Value
	}
	if diff := cmp.Diff(want, got); diff != "" || len(r.Failures) > 0 {
		t.Errorf("of 100 clusters (-want +got):\n%s%v", diff, r.Failures)
	}

	r = &Record{Size: 100}
	r.Latencies90(Figure{Step: "s", Metric: "m", Unit: "s"}, samples, 100)
	for stat, want := range map[string]float64{P50: 50, P90: 90, All: 100} {
		if got, ok := r.Value(Key{"s", "m", stat, "s", Ours}); !ok || got != want {
			t.Errorf("%s: got %v, want %v", stat, got, want)
		}
	}

	r = &Record{Size: 101}
	r.Latencies(Figure{Step: "s", Metric: "m", Unit: "ms", Subject: Ours}, samples, 101)
	missed, _ := r.Missed()
	if _, ok := r.Value(Key{"s", "m", All, "ms", Ours}); ok || len(missed) != 1 {
		t.Errorf("one cluster did not come: there is an end (%v), missed %q", ok, missed)
	}
	r.Latencies(Figure{Step: "s", Metric: "m", Unit: "ms", Subject: Rival}, samples, 101)
	missed, _ = r.Missed()
	if _, ok := r.Value(Key{"s", "m", All, "ms", Rival}); ok || len(missed) != 1 || len(r.Notes) != 1 {
		t.Errorf("one cluster of the rival did not come: there is an end (%v), missed %q, notes %q", ok, missed, r.Notes)
	}
	if got, _ := r.Value(Key{"s", "m", P50, "ms", Ours}); got != 50000 {
		t.Errorf("p50 in milliseconds: got %v", got)
	}
}

func TestReadsWhatItWrites(t *testing.T) {
	yes := true
	want := &Record{Size: 5, Started: time.Unix(1000, 0).UTC(), Machine: Machine{CPUs: 2, MemoryMiB: 1024, System: "linux/amd64", Kernel: "6.1", Load: 0.5},
		Versions: map[string]string{"OCM": "v1"}, Command: "make bench-fleet", Settings: map[string]string{"idle": "1m"},
		Figures: []Figure{{"s", "m", "p50", "ms", Ours, 1.5, "≤ 2", &yes}}, Failures: []string{"x: y"}, Notes: []string{"z"}}
	var out bytes.Buffer
	if err := want.Write(&out); err != nil {
		t.Fatal(err)
	}
	got, err := Read(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, wrong := range []string{`{"size":5,"rows":[]}`, `{"size":0}`, `{`} {
		if _, err := Read(strings.NewReader(wrong)); err == nil {
			t.Errorf("%s: no error", wrong)
		}
	}
}

// TestRequests: the rival is compared with, and has no aim.
func TestRequests(t *testing.T) {
	for _, c := range []struct {
		subject string
		aim     string
	}{{Ours, "≤ 12"}, {Rival, ""}} {
		r := &Record{Size: 2}
		r.Requests(Figure{Step: Enable, Metric: EnableRequests, Unit: "requests", Subject: c.subject}, map[string]float64{"get": 6, "leases": 100, "watch": 0}, []string{"leases"}, 2)
		var got []string
		for _, f := range r.Figures {
			got = append(got, fmt.Sprintf("%s %v %s", f.Stat, f.Value, f.Aim))
		}
		if diff := cmp.Diff([]string{"all 3 " + c.aim, "get 3 "}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.subject, diff)
		}
	}
}
