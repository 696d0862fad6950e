package dashboard

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// ticksOfAxis is how many steps an axis of values has at most.
const ticksOfAxis = 4

// scale maps times and values to places in the picture: x0 and y0 are the left and the bottom of the plot.
type scale struct{ x0, y0, w, h, seconds, from, to float64 }

func (s scale) x(at float64) float64    { return s.x0 + s.w*at/max(s.seconds, 1) }
func (s scale) y(value float64) float64 { return s.y0 - s.h*(value-s.from)/(s.to-s.from) }

// drawTimeseries draws lines over time, and their legend at the right: a table of names and last values.
func drawTimeseries(out *strings.Builder, field Field, lines []line, data Data, b box) {
	u := units[field.Unit]
	plot := b
	plot.w -= drawLegend(out, u, lines, b)
	ticks := axis(field, u, lines)
	labels := make([]string, len(ticks))
	room := 0
	for i, tick := range ticks {
		labels[i] = u.format(tick)
		room = max(room, len([]rune(labels[i])))
	}
	indent := float64(room)*charWidth + 6
	s := scale{x0: plot.x + indent, y0: plot.y + plot.h - lineHeight, w: plot.w - indent, h: plot.h - lineHeight - 6, seconds: data.Seconds, from: ticks[0], to: ticks[len(ticks)-1]}
	for i, tick := range ticks {
		y := s.y(tick)
		class := "grid"
		if i == 0 {
			class = "axis"
		}
		fmt.Fprintf(out, `<path class="%s" d="M%.1f %.1fh%.1f"/>`, class, s.x0, y, s.w)
		text(out, "dim e", s.x0-6, y+4, labels[i])
	}
	drawTimes(out, s)
	for _, l := range lines {
		for _, part := range s.parts(l.points, data.Step) {
			fmt.Fprintf(out, `<path class="%s" d="%s"/>`+"\n", l.class(), path(part))
		}
	}
}

func (l line) class() string {
	class := fmt.Sprintf("l l%d", l.color%len(palette))
	if l.color/len(palette)%2 == 1 {
		class += " dash"
	}
	return class
}

// drawTimes writes the time since the beginning of the run.
func drawTimes(out *strings.Builder, s scale) {
	step := units["s"].step(s.seconds * 45 / max(s.w, 1))
	for at := 0.0; at <= s.seconds; at += step {
		label := units["s"].format(at)
		if at == 0 {
			label = "0"
		}
		x := s.x(at)
		fmt.Fprintf(out, `<path class="axis" d="M%.1f %.1fv4"/>`, x, s.y0)
		text(out, "dim m", x, s.y0+lineHeight+1, strings.Replace(label, "mins", "min", 1))
	}
}

// axis returns the ticks of the axis of the values.
func axis(field Field, u unit, lines []line) []float64 {
	least, most := math.Inf(1), math.Inf(-1)
	for _, l := range lines {
		for _, p := range l.points {
			least, most = min(least, p.Value), max(most, p.Value)
		}
	}
	if field.Min != nil {
		least = min(*field.Min, least)
	}
	step := u.step((most - least) / ticksOfAxis)
	ticks := []float64{math.Floor(least/step) * step}
	for ticks[len(ticks)-1] < most || len(ticks) == 1 {
		ticks = append(ticks, ticks[0]+float64(len(ticks))*step)
	}
	return ticks
}

// drawLegend writes the table of the lines, and returns how wide it is. Where not all have room, it has those with the highest
// values.
func drawLegend(out *strings.Builder, u unit, lines []line, b box) float64 {
	fit := int(b.h/lineHeight) - 1
	shown := lines
	if len(lines) > fit {
		shown = slices.Clone(lines)
		slices.SortStableFunc(shown, func(a, b line) int {
			switch x, y := a.most(), b.most(); {
			case x > y:
				return -1
			case x < y:
				return 1
			}
			return 0
		})
		shown = shown[:fit-1]
		slices.SortFunc(shown, func(a, b line) int { return a.color - b.color })
	}
	names, name, value := make([]string, len(shown)), 0, len("last")
	for i, l := range shown {
		names[i] = l.name
		name, value = max(name, len([]rune(l.name))), max(value, len([]rune(u.format(l.last()))))
	}
	const mark = 18
	valueWidth := float64(value)*charWidth + 14
	wide := mark + float64(name)*charWidth + valueWidth
	if limit := b.w * 0.5; wide > limit {
		wide = limit
		if room := wide - mark - valueWidth; float64(name)*charWidth > 2*room {
			names = withoutPrefix(names)
		}
	}
	x, y, right := b.x+b.w-wide, b.y+8, b.x+b.w
	text(out, "dim e", right, y, "last")
	for i, l := range shown {
		y += lineHeight
		fmt.Fprintf(out, `<path class="%s" d="M%.0f %.0fh12"/>`, l.class(), x, y-4)
		text(out, "", x+mark, y, shorten(names[i], wide-mark-valueWidth, charWidth))
		text(out, "e", right, y, u.format(l.last()))
	}
	if n := len(lines) - len(shown); n > 0 {
		text(out, "dim", x+mark, y+lineHeight, fmt.Sprintf("and %d more", n))
	}
	return wide + 12
}

// withoutPrefix leaves out the words that all names begin with: helloworld- of helloworld-controller-a and helloworld-agent-b.
func withoutPrefix(names []string) []string {
	common := names[0]
	for _, name := range names[1:] {
		for !strings.HasPrefix(name, common) {
			common = common[:len(common)-1]
		}
	}
	common = common[:strings.LastIndexAny(common, "-/ ")+1]
	if common == "" || len(names) == 1 {
		return names
	}
	short := make([]string, len(names))
	for i, name := range names {
		short[i] = "…" + strings.TrimPrefix(name, common)
	}
	return short
}

// place is a point in the picture.
type place struct{ x, y float64 }

// parts returns the places of the points, in parts where the line has gaps.
func (s scale) parts(points []Point, step float64) [][]place {
	var parts [][]place
	for i, p := range points {
		if i == 0 || p.At-points[i-1].At > 1.5*step {
			parts = append(parts, nil)
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], place{s.x(p.At), s.y(p.Value)})
	}
	for i := range parts {
		parts[i] = simplify(parts[i])
	}
	return parts
}

// simplify leaves out places that are so close to the line between others that one does not see it (Ramer, Douglas and Peucker:
// https://en.wikipedia.org/wiki/Ramer%E2%80%93Douglas%E2%80%93Peucker_algorithm).
func simplify(places []place) []place {
	const visible = 0.3
	if len(places) < 3 {
		return places
	}
	first, last := places[0], places[len(places)-1]
	farthest, most := 0, visible
	for i, p := range places[1 : len(places)-1] {
		between := first.y + (last.y-first.y)*(p.x-first.x)/(last.x-first.x)
		if off := math.Abs(between - p.y); off > most {
			farthest, most = i+1, off
		}
	}
	if farthest == 0 {
		return []place{first, last}
	}
	return append(slices.Clone(simplify(places[:farthest+1])), simplify(places[farthest:])[1:]...)
}

// path returns the commands of a path through the places. A single one is a dot.
func path(places []place) string {
	var d strings.Builder
	for i, p := range places {
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&d, "%s%s %s", command, short(p.x), short(p.y))
	}
	if len(places) == 1 {
		d.WriteString("h0")
	}
	return d.String()
}

func short(x float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0") }
