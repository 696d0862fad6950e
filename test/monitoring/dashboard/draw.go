package dashboard

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// The picture's measures in pixels. A panel's are those of the grid, less the gap to its neighbours.
const (
	columns                 = 24
	width, margin, gap      = 900, 12, 8
	columnWidth             = (width - 2*margin) / float64(columns)
	unitHeight              = 21
	headHeight, footHeight  = 54, 34
	padding                 = 8
	titleHeight, lineHeight = 22, 14
	// A character is about so wide in the font of 11 px.
	charWidth = 6.6
)

const style = `text { font: 11px -apple-system, "Segoe UI", "Helvetica Neue", "DejaVu Sans", sans-serif; fill: #1f2328 }
.head { font-weight: bold; font-size: 16px } .row { font-weight: bold; font-size: 13px } .name { font-weight: bold; font-size: 12px }
.big { font-size: 26px } .mid { font-size: 15px } .m { text-anchor: middle } .e { text-anchor: end }
.page { fill: #f6f8fa; stroke: #d1d9e0 } .panel { fill: #ffffff; stroke: #d1d9e0 }
.grid { stroke: #e4e8ec; fill: none } .axis { stroke: #818b98; fill: none } .dim { fill: #59636e }
.l { fill: none; stroke-width: 1.5; stroke-linejoin: round; stroke-linecap: round } .dash { stroke-dasharray: 5 3 }
.spark { fill-opacity: 0.15 }
%s@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .page { fill: #010409; stroke: #3d444d } .panel { fill: #0d1117; stroke: #3d444d }
.grid { stroke: #21262d } .axis { stroke: #656c76 } .dim { fill: #9198a1 }
%s}
`

// palette has the colours of lines on a light and on a dark page: told apart by people with a colour vision deficiency (Okabe and
// Ito), with a contrast of 3 to 1 at least. They are those of test/fleet/chart. From the seventh line on, lines are dashed.
var palette = []struct{ light, dark string }{
	{"#0072b2", "#56b4e9"}, {"#c24a00", "#f28e4b"}, {"#007a5a", "#2bc79a"}, {"#a3478a", "#e08fc4"}, {"#7a6a00", "#f0e442"}, {"#4d4d4d", "#c8c8c8"},
}

// named has Grafana's colours that stats use.
var named = []struct{ name, light, dark string }{
	{"green", "#1a7f37", "#3fb950"}, {"orange", "#bc4c00", "#f0883e"}, {"red", "#cf222e", "#f85149"}, {"text", "#1f2328", "#e6edf3"},
}

// SVG draws a dashboard with its data.
func SVG(board Dashboard, data Data) string {
	var body strings.Builder
	bottom := 0
	for _, p := range board.Panels {
		drawPanel(&body, p, data)
		bottom = max(bottom, p.GridPos.Y+p.GridPos.H)
	}
	height := headHeight + bottom*unitHeight + footHeight
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title">`+"\n",
		width, height, width, height)
	fmt.Fprintf(&svg, "<title id=\"title\">%s</title>\n<style>\n", html.EscapeString("Dashboard "+board.Title))
	fmt.Fprintf(&svg, style, colors(false), colors(true))
	fmt.Fprintf(&svg, "</style>\n<rect class=\"page\" x=\"0.5\" y=\"0.5\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", width-1, height-1)
	text(&svg, "head", margin+2, 24, board.Title)
	text(&svg, "dim", margin+2, 43, board.Description)
	svg.WriteString(body.String())
	text(&svg, "dim", margin+2, float64(height-14), fmt.Sprintf("Drawn by make picture-dashboards from %.0f minutes of a run on the sandbox, as Prometheus recorded it. Not a screenshot of Grafana.", data.Seconds/minute))
	svg.WriteString("</svg>\n")
	return svg.String()
}

// colors returns the rules of the colours of lines, for example l0, and of stats.
func colors(night bool) string {
	var css strings.Builder
	for i, c := range palette {
		color := c.light
		if night {
			color = c.dark
		}
		fmt.Fprintf(&css, ".l%d { stroke: %s }\n", i, color)
	}
	for _, c := range named {
		color := c.light
		if night {
			color = c.dark
		}
		fmt.Fprintf(&css, ".%s { fill: %s }\n", c.name, color)
	}
	return css.String()
}

// box is a place in the picture.
type box struct{ x, y, w, h float64 }

func drawPanel(out *strings.Builder, p Panel, data Data) {
	b := box{margin + float64(p.GridPos.X)*columnWidth, headHeight + float64(p.GridPos.Y*unitHeight), float64(p.GridPos.W)*columnWidth - gap, float64(p.GridPos.H*unitHeight) - gap}
	if p.GridPos.X+p.GridPos.W == columns {
		b.w += gap
	}
	if p.Type == row {
		text(out, "row", b.x+2, b.y+b.h, p.Title)
		return
	}
	out.WriteString("<g>")
	if p.Description != "" {
		fmt.Fprintf(out, "<title>%s</title>", html.EscapeString(p.Description))
	}
	fmt.Fprintf(out, `<rect class="panel" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="3"/>`+"\n", b.x, b.y, b.w, b.h)
	text(out, "name", b.x+padding, b.y+16, shorten(p.Title, b.w-padding, charWidth*1.08))
	inside := box{b.x + padding, b.y + titleHeight, b.w - 2*padding, b.h - titleHeight - padding}
	switch lines := data.lines(p); {
	case len(lines) == 0:
		text(out, "mid dim m", inside.x+inside.w/2, inside.y+inside.h/2+3, "No data")
	case p.Type == stat:
		drawStat(out, p, lines, data, inside)
	default:
		drawTimeseries(out, p.FieldConfig.Defaults, lines, data, inside)
	}
	out.WriteString("</g>\n")
}

func text(out *strings.Builder, class string, x, y float64, content string) {
	attribute := ""
	if class != "" {
		attribute = fmt.Sprintf(` class="%s"`, class)
	}
	fmt.Fprintf(out, `<text%s x="%.0f" y="%.0f">%s</text>`+"\n", attribute, x, y, html.EscapeString(content))
}

// shorten leaves out the middle of a text that is wider than the room. The names of pods differ at their ends.
func shorten(content string, room, charWidth float64) string {
	runes := []rune(content)
	fit := max(int(math.Round(room/charWidth)), 1)
	if len(runes) <= fit {
		return content
	}
	head := fit / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(fit-head-1):])
}
