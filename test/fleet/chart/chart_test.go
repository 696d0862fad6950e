package chart

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

func example() Chart {
	return Chart{Title: "Hub write to copy, p50 & p99", Unit: "ms", Axis: "managed clusters", Series: []Series{
		{Name: "ours, p50", Points: []Point{{100, 3}, {500, 4}, {1000, 4.5}, {5000, 6}}},
		{Name: "ours, p99", Points: []Point{{100, 12}, {500, 14}, {1000, 19}, {5000, 60}}},
		{Name: "floor, p99", Points: []Point{{100, 11}, {500, 13}, {1000, 18}, {5000, 59}}, Dashed: true},
	}}
}

func TestGolden(t *testing.T) {
	logarithmic := example()
	logarithmic.Log = true
	one := Chart{Title: "One size", Unit: "s", Axis: "managed clusters", Series: []Series{{Name: "ours", Points: []Point{{20, 3}}}}}
	for name, c := range map[string]Chart{"linear.svg": example(), "log.svg": logarithmic, "one.svg": one} {
		got := c.SVG()
		golden := filepath.Join("testdata", name)
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
			t.Errorf("%s has changed (-want +got), -update when it was meant to:\n%s", name, diff)
		}
	}
}

// TestWellFormed reads charts of unusual values as XML, and looks for numbers that are none.
func TestWellFormed(t *testing.T) {
	for name, c := range map[string]Chart{
		"nothing":        {Title: "a < b"},
		"zeros":          {Unit: "s", Series: []Series{{Name: "a", Points: []Point{{100, 0}, {500, 0}}}}},
		"zeros on a log": {Unit: "s", Log: true, Series: []Series{{Name: "a", Points: []Point{{100, 0}, {500, 3}}}, {Name: "b", Points: []Point{{100, 0}}}}},
		"a power of ten": {Unit: "s", Log: true, Series: []Series{{Name: "a", Points: []Point{{100, 10}}}}},
		"many series":    {Series: make([]Series, 9)},
	} {
		svg := c.SVG()
		if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("%s: the chart has a number that is none:\n%s", name, svg)
		}
		decoder := xml.NewDecoder(strings.NewReader(svg))
		for {
			_, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
		}
	}
}

func TestLabelsDoNotCoverEachOther(t *testing.T) {
	labels := []label{{name: "a", y: 100, at: 100}, {name: "b", y: 101, at: 101}, {name: "c", y: 99, at: 99}, {name: "d", y: top + plotHeight, at: top + plotHeight},
		{name: "e", y: top + plotHeight - 1, at: top + plotHeight - 1}}
	place(labels)
	for i, l := range labels {
		if l.at > top+plotHeight || i > 0 && l.at-labels[i-1].at < labelHeight {
			t.Errorf("label %d, %s, at %.0f", i, l.name, l.at)
		}
		if i > 0 && l.y < labels[i-1].y {
			t.Errorf("label %s is not in the order of the lines' ends", l.name)
		}
	}
}

func TestNiceStep(t *testing.T) {
	for x, want := range map[float64]float64{0: 1, 0.7: 1, 1: 1, 1.2: 2, 2.3: 2.5, 30: 50, 700: 1000} {
		if got := niceStep(x); math.Abs(got-want) > 1e-9 {
			t.Errorf("step for %v: got %v, want %v", x, got, want)
		}
	}
}

func TestSpans(t *testing.T) {
	for _, c := range []struct {
		why    string
		values []float64
		want   bool
	}{
		{"neighbours are readable on a linear axis", []float64{1, 20}, false},
		{"one would be a flat line at the bottom", []float64{1, 40}, true},
		{"zero has no place on a logarithmic axis", []float64{0, 2}, false},
	} {
		var points []Point
		for _, v := range c.values {
			points = append(points, Point{100, v})
		}
		if got := Spans([]Series{{Points: points}}); got != c.want {
			t.Errorf("%v (%s): got %v", c.values, c.why, got)
		}
	}
}
