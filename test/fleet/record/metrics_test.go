package record

import (
	"testing"
)

func TestConstant(t *testing.T) {
	requests := Key{Enable, EnableRequests, All, "requests", Ours}
	heap := Key{Enable, HeapGrowth, "", "KiB", Ours}
	of := func(size int, key Key, value float64) *Record {
		r := &Record{Size: size}
		r.Add(Figure{Step: key.Step, Metric: key.Metric, Stat: key.Stat, Unit: key.Unit, Subject: key.Subject, Value: value})
		return r
	}
	for _, c := range []struct {
		name, why string
		records   []*Record
		compared  int
		pass      bool
	}{
		{"the same", "a constant cost has the ratio 1", []*Record{of(5, requests, 0), of(20, requests, 0)}, 1, true},
		{"20 percent", "the limit itself is good", []*Record{of(100, requests, 10), of(500, requests, 12)}, 1, true},
		{"more", "a cost that grows with the fleet is not constant", []*Record{of(100, requests, 10), of(5000, requests, 12.5)}, 1, false},
		{"less", "a cost that shrinks hides a fixed part", []*Record{of(100, requests, 12.5), of(5000, requests, 10)}, 1, false},
		{"a hump", "the sizes between count too", []*Record{of(100, requests, 10), of(500, requests, 15), of(1000, requests, 10)}, 1, false},
		{"one size", "there is nothing to compare", []*Record{of(100, requests, 10)}, 0, false},
		{"small fleets", "the heap of 100 clusters is not measured well", []*Record{of(100, heap, 40), of(500, heap, 25)}, 0, false},
		{"from nothing", "a cost of zero that grows is not constant", []*Record{of(100, requests, 0), of(500, requests, 1)}, 1, false},
	} {
		got := Constant(c.records)
		if len(got) != c.compared || len(got) > 0 && got[0].Pass != c.pass {
			t.Errorf("%s (%s): got %+v", c.name, c.why, got)
		}
	}
}
