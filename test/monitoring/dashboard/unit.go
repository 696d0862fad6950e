package dashboard

import (
	"fmt"
	"math"
	"strconv"
)

// unit formats a value as Grafana does, and chooses a round step of an axis that is not below x.
type unit struct {
	format func(value float64) string
	step   func(x float64) float64
}

// units are the units of fields: https://grafana.com/docs/grafana/latest/panels-visualizations/configure-standard-options/#unit
var units = map[string]unit{
	"":            {number, niceStep},
	"none":        {number, niceStep},
	"percentunit": {func(v float64) string { return number(100*v) + "%" }, niceStep},
	"s":           {seconds, timeStep},
	"bytes":       {bytes, func(x float64) float64 { return math.Exp2(math.Ceil(math.Log2(max(x, 1)))) }},
	"ops":         {func(v float64) string { return thousands(v) + " ops/s" }, niceStep},
	"reqps":       {func(v float64) string { return thousands(v) + " req/s" }, niceStep},
}

const (
	minute = 60.0
	hour   = 60 * minute
	day    = 24 * hour
	week   = 7 * day
	year   = 365 * day
)

// number writes a value with three digits that count, or all digits before the point.
func number(v float64) string {
	switch size := math.Abs(v); {
	case size < 1e-9:
		return "0"
	case size >= 100:
		return strconv.FormatFloat(math.Round(v), 'f', -1, 64)
	case size < 1e-3:
		return fmt.Sprintf("%.2g", v)
	default:
		return fmt.Sprintf("%.3g", v)
	}
}

// scaled is a unit of more than one name.
type scaled struct {
	from, size float64
	// one and many are its names behind the number.
	one, many string
}

// write writes a value in the last unit that is not larger.
func write(v float64, names []scaled) string {
	chosen := names[0]
	for _, s := range names {
		if math.Abs(v) >= s.from {
			chosen = s
		}
	}
	text := number(v / chosen.size)
	if text == "1" {
		return text + chosen.one
	}
	return text + chosen.many
}

func thousands(v float64) string {
	return write(v, []scaled{{0, 1, "", ""}, {1e3, 1e3, "K", "K"}, {1e6, 1e6, " Mil", " Mil"}})
}

func bytes(v float64) string {
	return write(v, []scaled{{0, 1, " B", " B"}, {1 << 10, 1 << 10, " KiB", " KiB"}, {1 << 20, 1 << 20, " MiB", " MiB"}, {1 << 30, 1 << 30, " GiB", " GiB"}})
}

func seconds(v float64) string {
	if math.Abs(v) < 1e-9 {
		return "0 s"
	}
	return write(v, []scaled{{0, 1e-6, " µs", " µs"}, {1e-3, 1e-3, " ms", " ms"}, {1, 1, " s", " s"}, {minute, minute, " min", " mins"},
		{hour, hour, " hour", " hours"}, {day, day, " day", " days"}, {week, week, " week", " weeks"}, {year, year, " year", " years"}})
}

// timeStep returns a step of whole seconds, minutes, hours, days or weeks; below a second it is a decimal one.
func timeStep(x float64) float64 {
	if x > 1 && x <= week {
		for _, step := range []float64{2, 5, 10, 15, 30, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute,
			hour, 2 * hour, 6 * hour, 12 * hour, day, 2 * day, week} {
			if step >= x {
				return step
			}
		}
	}
	if x > week {
		return week * niceStep(x/week)
	}
	return niceStep(x)
}

// niceStep returns the smallest of 1, 2, 2.5 and 5 times a power of ten that is not below x.
func niceStep(x float64) float64 {
	if x <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, factor := range []float64{1, 2, 2.5, 5} {
		if factor*power >= x {
			return factor * power
		}
	}
	return 10 * power
}
