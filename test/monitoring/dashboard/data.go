package dashboard

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Data is what Prometheus answered to the queries of a dashboard.
type Data struct {
	// Seconds is how long the run was, Step the time between two points.
	Seconds float64 `json:"seconds"`
	Step    float64 `json:"step"`
	// Answers has the series of each query of a panel, by the panel's id.
	Answers map[int][][]Series `json:"answers"`
}

// Series is a series of an answer. It has no point where it has no number.
type Series struct {
	Labels map[string]string `json:"labels"`
	Points []Point           `json:"points"`
}

// Point is a value, and the seconds since the run began.
type Point struct {
	At    float64 `json:"at"`
	Value float64 `json:"value"`
}

// line is a series of a panel with its name in the legend.
type line struct {
	name   string
	points []Point
	color  int
}

// last returns the last value, which is the one that stats and legends show (lastNotNull).
func (l line) last() float64 { return l.points[len(l.points)-1].Value }

func (l line) most() float64 {
	most := l.points[0].Value
	for _, p := range l.points {
		most = max(most, p.Value)
	}
	return most
}

// lines returns the series of a panel that have a point.
func (d Data) lines(p Panel) []line {
	var lines []line
	for i, answer := range d.Answers[p.ID] {
		format := ""
		if i < len(p.Targets) {
			format = p.Targets[i].LegendFormat
		}
		for _, series := range answer {
			if len(series.Points) > 0 {
				lines = append(lines, line{legend(format, series.Labels), series.Points, len(lines)})
			}
		}
	}
	return lines
}

// Empty returns the titles of the panels that have no data.
func Empty(board Dashboard, data Data) []string {
	var titles []string
	for _, p := range board.Panels {
		if p.Type != row && len(data.lines(p)) == 0 {
			titles = append(titles, p.Title)
		}
	}
	return titles
}

var variable = regexp.MustCompile(`\{\{\s*(.+?)\s*\}\}`)

// legend returns the name of a series. As in Grafana, a label that the series does not have stands for itself, and a series
// without a format has its labels as its name.
func legend(format string, labels map[string]string) string {
	if format != "" {
		return variable.ReplaceAllStringFunc(format, func(match string) string {
			name := variable.FindStringSubmatch(match)[1]
			if value := labels[name]; value != "" {
				return value
			}
			return name
		})
	}
	if len(labels) == 0 {
		return "Value"
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, fmt.Sprintf("%s=%q", name, labels[name]))
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}
