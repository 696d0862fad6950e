package dashboard

import (
	"fmt"
	"strings"
)

// drawStat writes the last value of each line, side by side, with a small graph of it below, as Grafana does by default.
func drawStat(out *strings.Builder, p Panel, lines []line, data Data, b box) {
	field, mode := p.FieldConfig.Defaults, p.Options.TextMode
	wide := b.w / float64(len(lines))
	for i, l := range lines {
		cell := box{b.x + float64(i)*wide, b.y, wide, b.h}
		color := field.color(l.last())
		if p.Options.GraphMode != "none" {
			spark(out, l, color, data, cell)
		}
		value, middle, baseline := units[field.Unit].format(l.last()), cell.x+wide/2, cell.y+cell.h/2+9
		if mode == "value" || mode != "name" && mode != "value_and_name" && len(lines) == 1 {
			text(out, "big m "+color, middle, baseline, value)
			continue
		}
		name := shorten(l.name, wide, charWidth*15/11)
		if mode == "name" {
			text(out, "mid m "+color, middle, baseline, name)
			continue
		}
		text(out, "mid m", middle, baseline-16, name)
		text(out, "big m "+color, middle, baseline+10, value)
	}
}

// spark draws the area below a line. One that does not change has none.
func spark(out *strings.Builder, l line, color string, data Data, b box) {
	least, most := l.points[0].Value, l.most()
	for _, p := range l.points {
		least = min(least, p.Value)
	}
	if least == most {
		return
	}
	bottom := b.y + b.h + padding/2
	s := scale{x0: b.x, y0: bottom, w: b.w, h: b.h / 2, seconds: data.Seconds, from: least, to: most}
	for _, part := range s.parts(l.points, data.Step) {
		fmt.Fprintf(out, `<path class="spark %s" d="%sV%sH%sZ"/>`+"\n", color, path(part), short(bottom), short(part[0].x))
	}
}
