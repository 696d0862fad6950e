package chart

import (
	"math"
	"slices"
)

// scale maps sizes and values to places in the picture.
type scale struct {
	sizes []int
	// from and to are the ends of the axis of the values, ticks its marks.
	from, to float64
	ticks    []float64
	log      bool
}

// scale is that in which all points of the chart are visible.
func (c Chart) scale() scale {
	s := scale{log: c.Log}
	least, most := math.Inf(1), 0.0
	for _, series := range c.Series {
		for _, p := range s.visible(series.Points) {
			if !slices.Contains(s.sizes, p.Size) {
				s.sizes = append(s.sizes, p.Size)
			}
			least, most = min(least, p.Value), max(most, p.Value)
		}
	}
	slices.Sort(s.sizes)
	if s.log && most > 0 {
		s.from, s.to = math.Pow(10, math.Floor(math.Log10(least))), math.Pow(10, math.Ceil(math.Log10(most)))
		if s.from == s.to {
			s.to *= 10
		}
		for tick := s.from; tick <= s.to*1.001; tick *= 10 {
			s.ticks = append(s.ticks, tick)
		}
		return s
	}
	s.log = false
	step := niceStep(most / 5)
	s.to = step
	for s.to < most {
		s.to += step
	}
	for tick := 0.0; tick <= s.to*1.001; tick += step {
		s.ticks = append(s.ticks, tick)
	}
	return s
}

// niceStep is the smallest of 1, 2, 2.5 and 5 times a power of ten that is not below x.
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

// visible are the points that the scale can show.
func (s scale) visible(points []Point) []Point {
	return slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return s.log && p.Value <= 0 })
}

// x is logarithmic: the sizes are about equal steps of it.
func (s scale) x(size int) float64 {
	first, last := s.sizes[0], s.sizes[len(s.sizes)-1]
	if first == last {
		return left + plotWidth/2
	}
	return left + plotWidth*math.Log(float64(size)/float64(first))/math.Log(float64(last)/float64(first))
}

func (s scale) y(value float64) float64 {
	share := (value - s.from) / (s.to - s.from)
	if s.log {
		share = math.Log(value/s.from) / math.Log(s.to/s.from)
	}
	return top + plotHeight*(1-share)
}

// Spans reports whether values are so far apart that a linear axis would hide the small ones.
func Spans(series []Series) bool {
	least, most := math.Inf(1), 0.0
	for _, one := range series {
		for _, p := range one.Points {
			if p.Value > 0 {
				least, most = min(least, p.Value), max(most, p.Value)
			}
		}
	}
	return most > 30*least
}
