package dashboard

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden file")

// example returns a dashboard with every type of panel, and data with a gap, a single point, and names that need escapes.
func example(t *testing.T) (Dashboard, Data) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "board.json"))
	if err != nil {
		t.Fatal(err)
	}
	board, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	series := func(labels map[string]string, values ...float64) Series {
		s := Series{Labels: labels}
		for i, v := range values {
			if v >= 0 { // a negative value stands for a gap
				s.Points = append(s.Points, Point{float64(10 * i), v})
			}
		}
		return s
	}
	var verbs []Series
	for i := range 12 {
		verbs = append(verbs, series(map[string]string{"verb": fmt.Sprintf("VERB%d", i)}, float64(i), float64(i)/2))
	}
	return board, Data{Seconds: 300, Step: 10, Answers: map[int][][]Series{
		2: {{series(nil, 0.5, 0.8, 0.95)}},
		3: {{series(nil, 100, 100)}},
		4: {{series(map[string]string{"version": "v0.1.0"}, 3), series(map[string]string{"version": "v0.2.0"}, 90)}},
		5: {{series(nil)}},
		7: {{series(map[string]string{"pod": "<a>"}, 3<<20, 5<<20, 20<<20, -1, -1, 30<<20, 30<<20, 30<<20), series(map[string]string{"pod": strings.Repeat("b", 40) + "-end"}, -1, -1, 1<<20)}},
		8: {verbs, {series(map[string]string{"b": "2", "a": ""}, 1234, 1500)}},
	}}
}

func TestGolden(t *testing.T) {
	board, data := example(t)
	got := SVG(board, data)
	golden := filepath.Join("testdata", "board.svg")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s has changed (-want +got), -update when it was meant to:\n%s", golden, diff)
	}
}

// texts returns the texts of a picture as a reader sees them. It fails if the picture is not well-formed.
func texts(t *testing.T, svg string) []string {
	t.Helper()
	var all []string
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "text" {
			var content string
			if err := decoder.DecodeElement(&content, &start); err != nil {
				t.Fatal(err)
			}
			all = append(all, content)
		}
	}
}

func TestTexts(t *testing.T) {
	board, data := example(t)
	svg := SVG(board, data)
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Error("the picture has a number that is none")
	}
	found := texts(t, svg)
	for _, want := range []struct{ text, why string }{
		{"Example: a <dashboard> & more", "the title of the dashboard, escaped"},
		{"Stats", "the title of a row"},
		{`Memory of "a" & <b>`, "the title of a panel, escaped"},
		{"<a>", "a name in a legend, escaped"},
		{"95%", "the last value of a stat with the unit percentunit"},
		{"v0.2.0", "the name of a stat with the text mode value_and_name"},
		{"No data", "a panel without data"},
		{"30 MiB", "the last value of a line with the unit bytes"},
		{"VERB11 code", "a legend with a label that the series does not have"},
		{`{a="", b="2"}`, "the legend of a series without a format"},
		{"and 6 more", "lines that have no room in the legend"},
		{"1.5K req/s", "the last value of a line with the unit reqps"},
		{"4 min", "the axis of the time"},
	} {
		if !strings.Contains("\n"+strings.Join(found, "\n")+"\n", "\n"+want.text+"\n") {
			t.Errorf("the picture lacks %q: %s; it has %q", want.text, want.why, found)
		}
	}
	if diff := cmp.Diff([]string{"Without data"}, Empty(board, data)); diff != "" {
		t.Errorf("panels without data (-want +got):\n%s", diff)
	}
}

// TestNoData draws the dashboard without an answer.
func TestNoData(t *testing.T) {
	board, _ := example(t)
	found := strings.Join(texts(t, SVG(board, Data{})), "\n")
	if got, want := strings.Count(found, "No data"), len(Empty(board, Data{})); got != want || want != 6 {
		t.Errorf("%d panels are drawn without data, %d are listed", got, want)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ name, panel, want string }{
		{"a type", `"type": "heatmap"`, `no panel of the type "heatmap" can be drawn`},
		{"a unit", `"type": "stat", "fieldConfig": {"defaults": {"unit": "furlongs"}}`, `the unit "furlongs" is not known`},
		{"a colour", `"type": "stat", "fieldConfig": {"defaults": {"thresholds": {"steps": [{"color": "pink"}]}}}`, `the colour "pink" is not known`},
		{"a colour mode", `"type": "stat", "fieldConfig": {"defaults": {"color": {"mode": "rainbow"}}}`, `the colour mode "rainbow" is not known`},
		{"a threshold", `"type": "stat", "fieldConfig": {"defaults": {"thresholds": {"steps": [{"color": "red"}, {"color": "red"}]}}}`, "threshold 1 has no value"},
		{"a text mode", `"type": "stat", "options": {"textMode": "loud"}`, `the text mode "loud" is not known`},
		{"a graph mode", `"type": "stat", "options": {"graphMode": "pie"}`, `the graph mode "pie" is not known`},
		{"an override", `"type": "stat", "fieldConfig": {"overrides": [{}]}`, "overrides of fields are not known"},
		{"a calculation", `"type": "stat", "options": {"reduceOptions": {"calcs": ["mean"]}}`, `the calculation "mean" is not known`},
		{"a mode of thresholds", `"type": "stat", "fieldConfig": {"defaults": {"thresholds": {"mode": "percentage"}}}`, `the mode of thresholds "percentage" is not known`},
		{"a collapsed row", `"type": "row", "collapsed": true, "panels": [{}]`, "the panels of a collapsed row cannot be drawn"},
		{"a place", `"type": "stat", "gridPos": {"x": 20, "w": 6, "h": 1}`, "is not on the grid"},
	} {
		_, err := Parse([]byte(`{"title": "a", "panels": [{"title": "b", "gridPos": {"w": 6, "h": 4}, ` + c.panel + `}]}`))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got the error %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := Parse([]byte(`{"panels": [{"id": 1, "type": "row", "gridPos": {"w": 1, "h": 1}}, {"id": 1, "type": "row", "gridPos": {"w": 1, "h": 1}}]}`)); err == nil {
		t.Error("two panels have one id, and there is no error")
	}
}

func TestUnits(t *testing.T) {
	for _, c := range []struct {
		unit  string
		value float64
		want  string
	}{
		{"none", 0, "0"}, {"none", 0.00012345, "0.00012"}, {"none", 0.12345, "0.123"}, {"none", 12, "12"}, {"none", 123456, "123456"},
		{"percentunit", 0.9567, "95.7%"}, {"percentunit", 1, "100%"},
		{"s", 0, "0 s"}, {"s", 0.000012, "12 µs"}, {"s", 0.0123, "12.3 ms"}, {"s", 1.5, "1.5 s"}, {"s", 60, "1 min"}, {"s", 90, "1.5 mins"},
		{"s", 7200, "2 hours"}, {"s", 3 * day, "3 days"}, {"s", 2 * week, "2 weeks"}, {"s", year, "1 year"}, {"s", -90, "-1.5 mins"},
		{"bytes", 512, "512 B"}, {"bytes", 40 << 20, "40 MiB"}, {"bytes", 3 << 29, "1.5 GiB"},
		{"ops", 0.25, "0.25 ops/s"}, {"ops", 2500, "2.5K ops/s"}, {"reqps", 1, "1 req/s"},
	} {
		if got := units[c.unit].format(c.value); got != c.want {
			t.Errorf("%v of %s: got %q, want %q", c.value, c.unit, got, c.want)
		}
	}
}

func TestColor(t *testing.T) {
	ninety := 0.9
	own := Field{}
	own.Thresholds.Steps = []Step{{nil, "red"}, {&ninety, "green"}}
	for _, c := range []struct {
		name  string
		field Field
		value float64
		want  string
	}{
		{"below the threshold", own, 0.89, "red"},
		{"at the threshold", own, 0.9, "green"},
		{"Grafana's default", Field{}, 79, "green"},
		{"Grafana's default from 80 on", Field{}, 80, "red"},
		{"a fixed colour", Field{Color: Color{"fixed", "text"}}, 80, "text"},
	} {
		if got := c.field.color(c.value); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestAxis(t *testing.T) {
	zero := 0.0
	for _, c := range []struct {
		name   string
		field  Field
		values []float64
		want   []float64
	}{
		{"from the least to the most", Field{Unit: "none", Min: &zero}, []float64{3, 8}, []float64{0, 2, 4, 6, 8}},
		{"nothing but zero", Field{Unit: "none", Min: &zero}, []float64{0}, []float64{0, 1}},
		{"whole minutes", Field{Unit: "s", Min: &zero}, []float64{400}, []float64{0, 120, 240, 360, 480}},
		{"powers of two", Field{Unit: "bytes", Min: &zero}, []float64{30 << 20}, []float64{0, 8 << 20, 16 << 20, 24 << 20, 32 << 20}},
		{"without a minimum", Field{Unit: "none"}, []float64{100, 104}, []float64{100, 101, 102, 103, 104}},
		{"below the minimum", Field{Unit: "none", Min: &zero}, []float64{-1, 1}, []float64{-1, -0.5, 0, 0.5, 1}},
	} {
		var points []Point
		for _, v := range c.values {
			points = append(points, Point{Value: v})
		}
		if diff := cmp.Diff(c.want, axis(c.field, units[c.field.Unit], []line{{points: points}})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestParts: a line ends where points are missing, and what is on a straight line is left out.
func TestParts(t *testing.T) {
	s := scale{x0: 0, y0: 100, w: 100, h: 100, seconds: 100, from: 0, to: 100}
	points := []Point{{0, 0}, {10, 10}, {20, 20}, {30, 90}, {60, 5}, {70, 5}, {80, 5}}
	want := [][]place{{{0, 100}, {20, 80}, {30, 10}}, {{60, 95}, {80, 95}}}
	if diff := cmp.Diff(want, s.parts(points, 10), cmp.AllowUnexported(place{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWithoutPrefix(t *testing.T) {
	for _, c := range []struct{ names, want []string }{
		{[]string{"a-controller-1", "a-controller-2", "a-core-3"}, []string{"…controller-1", "…controller-2", "…core-3"}},
		{[]string{"team/a total", "team/b total"}, []string{"…a total", "…b total"}},
		{[]string{"alone-1"}, []string{"alone-1"}},
		{[]string{"synced", "syncing"}, []string{"synced", "syncing"}},
		{[]string{"", "a-b"}, []string{"", "a-b"}},
	} {
		if diff := cmp.Diff(c.want, withoutPrefix(c.names)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.names, diff)
		}
	}
}

func TestTimeStep(t *testing.T) {
	for _, c := range []struct{ x, want float64 }{{0.03, 0.05}, {1.2, 2}, {20, 30}, {50, minute}, {100, 2 * minute}, {3 * hour, 6 * hour}, {week, week}, {8 * week, 10 * week}} {
		if got := timeStep(c.x); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("the step for %v s: got %v, want %v", c.x, got, c.want)
		}
	}
}
