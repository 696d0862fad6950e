// Package chart draws a line chart over the sizes of a fleet as an SVG, which is readable
// on a light and on a dark page. It is pure: values to text.
package chart

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// Chart is a picture.
type Chart struct {
	Title string
	// Unit is that of the values, Axis what the horizontal axis counts.
	Unit, Axis string
	Series     []Series
	// Log asks for a logarithmic axis of the values. Without it the axis begins at 0.
	Log bool
}

// Series is a line.
type Series struct {
	Name   string
	Points []Point
	// Dashed marks a subject that is only for comparison.
	Dashed bool
}

// Point is a value at a size.
type Point struct {
	Size  int
	Value float64
}

// The picture's measures in pixels.
const (
	width, height             = 780, 380
	left, right, top, bottom  = 64, 270, 52, 48
	plotWidth                 = width - left - right
	plotHeight                = height - top - bottom
	labelHeight, markerRadius = 15, 3
)

const style = `text { font: 12px -apple-system, "Segoe UI", "Helvetica Neue", "DejaVu Sans", sans-serif; fill: #1f2328 }
.title { font-weight: bold; font-size: 14px }
.page { fill: #ffffff; stroke: #d1d9e0 }
.grid { stroke: #d1d9e0 } .axis { stroke: #59636e } .tick { fill: #59636e }
.lead { stroke: #59636e; stroke-width: 0.5 }
polyline { fill: none; stroke-width: 2; stroke-linejoin: round } .dashed { stroke-dasharray: 5 4 }
%s@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .page { fill: #0d1117; stroke: #3d444d }
.grid { stroke: #2a313c } .axis { stroke: #9198a1 } .tick { fill: #9198a1 } .lead { stroke: #9198a1 }
%s}
`

// The lines' colours: told apart by people with a colour vision deficiency (Okabe and Ito), with
// a contrast of 3 to 1 at least on their page.
var light = []string{"#0072b2", "#c24a00", "#007a5a", "#a3478a", "#7a6a00", "#4d4d4d"}
var dark = []string{"#56b4e9", "#f28e4b", "#2bc79a", "#e08fc4", "#f0e442", "#c8c8c8"}

// SVG draws the chart. A point without a positive value is left out where the axis is logarithmic.
func (c Chart) SVG() string {
	scale := c.scale()
	var body strings.Builder
	c.grid(&body, scale)
	labels := make([]label, 0, len(c.Series))
	for i, series := range c.Series {
		var points, markers strings.Builder
		last := label{name: series.Name, colour: i % len(light)}
		for _, p := range scale.visible(series.Points) {
			last.x, last.y = scale.x(p.Size), scale.y(p.Value)
			fmt.Fprintf(&points, "%.1f,%.1f ", last.x, last.y)
			fmt.Fprintf(&markers, `<circle cx="%.1f" cy="%.1f" r="%d"><title>%s, %s: %s %s</title></circle>`+"\n",
				last.x, last.y, markerRadius, html.EscapeString(series.Name), count(p.Size), short(p.Value), html.EscapeString(c.Unit))
		}
		if points.Len() == 0 {
			continue
		}
		last.at = last.y
		labels = append(labels, last)
		dashed := ""
		if series.Dashed {
			dashed = ` class="dashed"`
		}
		fmt.Fprintf(&body, "<g class=\"s%d\">\n<polyline%s points=\"%s\"/>\n%s</g>\n", last.colour, dashed, strings.TrimSpace(points.String()), markers.String())
	}
	place(labels)
	for _, l := range labels {
		x := width - right + 18
		fmt.Fprintf(&body, `<line class="lead" x1="%.1f" y1="%.1f" x2="%d" y2="%.1f"/>`, l.x+markerRadius+2, l.y, x-4, l.at)
		fmt.Fprintf(&body, `<text class="t%d" x="%d" y="%.1f">%s</text>`+"\n", l.colour, x, l.at+4, html.EscapeString(l.name))
	}
	return c.frame(body.String())
}

func (c Chart) frame(body string) string {
	var svg, day, night strings.Builder
	for i := range light {
		for _, mode := range []struct {
			out    *strings.Builder
			colour string
		}{{&day, light[i]}, {&night, dark[i]}} {
			fmt.Fprintf(mode.out, ".s%d polyline { stroke: %s } .s%d circle, .t%d { fill: %s }\n", i, mode.colour, i, i, mode.colour)
		}
	}
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title">`+"\n",
		width, height, width, height)
	fmt.Fprintf(&svg, "<title id=\"title\">%s</title>\n<style>\n", html.EscapeString(c.Title))
	fmt.Fprintf(&svg, style, day.String(), night.String())
	fmt.Fprintf(&svg, "</style>\n<rect class=\"page\" x=\"0.5\" y=\"0.5\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", width-1, height-1)
	fmt.Fprintf(&svg, `<text class="title" x="16" y="26">%s</text>`+"\n", html.EscapeString(c.Title))
	svg.WriteString(body)
	svg.WriteString("</svg>\n")
	return svg.String()
}

// grid draws the axes, their ticks and units.
func (c Chart) grid(out *strings.Builder, s scale) {
	for _, value := range s.ticks {
		y := s.y(value)
		fmt.Fprintf(out, `<line class="grid" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>`, left, y, left+plotWidth, y)
		fmt.Fprintf(out, `<text class="tick" x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", left-8, y+4, short(value))
	}
	for _, size := range s.sizes {
		x := s.x(size)
		fmt.Fprintf(out, `<line class="axis" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`, x, top+plotHeight, x, top+plotHeight+5)
		fmt.Fprintf(out, `<text class="tick" x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x, top+plotHeight+18, count(size))
	}
	fmt.Fprintf(out, `<line class="axis" x1="%d" y1="%d" x2="%d" y2="%d"/>`+"\n", left, top+plotHeight, left+plotWidth, top+plotHeight)
	fmt.Fprintf(out, `<text class="tick" x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", left+plotWidth/2, height-12, html.EscapeString(c.Axis))
	unit := c.Unit
	if c.Log {
		unit += " (logarithmic)"
	}
	fmt.Fprintf(out, `<text class="tick" x="%d" y="%d">%s</text>`+"\n", 16, top-12, html.EscapeString(unit))
}

// label stands at the right, beside the end of its line.
type label struct {
	name   string
	colour int
	// x and y are the line's end, at is the label's own height.
	x, y, at float64
}

// place moves labels apart that would cover each other, and keeps them inside of the picture.
func place(labels []label) {
	slices.SortStableFunc(labels, func(a, b label) int {
		switch {
		case a.y < b.y:
			return -1
		case a.y > b.y:
			return 1
		}
		return 0
	})
	for i := range labels {
		if i > 0 {
			labels[i].at = max(labels[i].at, labels[i-1].at+labelHeight)
		}
	}
	limit := float64(top + plotHeight)
	for i := len(labels) - 1; i >= 0; i-- {
		labels[i].at = min(labels[i].at, limit)
		limit = labels[i].at - labelHeight
	}
}

// count writes a number with commas between the thousands.
func count(n int) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// short writes a value with three digits that count.
func short(x float64) string {
	switch magnitude := math.Abs(x); {
	case x == 0:
		return "0"
	case magnitude >= 100:
		return count(int(math.Round(x)))
	default:
		return fmt.Sprintf("%.3g", x)
	}
}
