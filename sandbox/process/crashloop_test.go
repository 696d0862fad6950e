package process

import (
	"testing"
	"time"
)

func TestDeaths(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name    string
		after   []time.Duration
		looping bool
		pause   time.Duration
	}{
		{"one death: agents exit by design", []time.Duration{0}, false, 500 * time.Millisecond},
		{"three in a minute are tolerated", []time.Duration{0, 10 * time.Second, 20 * time.Second}, false, 2 * time.Second},
		{"four in a minute are not", []time.Duration{0, 10 * time.Second, 20 * time.Second, 30 * time.Second}, true, 15 * time.Second},
		{"four over a longer time are", []time.Duration{0, 30 * time.Second, 61 * time.Second, 92 * time.Second}, false, 2 * time.Second},
		{"a death of a minute ago does not count", []time.Duration{0, time.Minute}, false, 500 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			var d deaths
			for _, after := range test.after {
				d = d.add(start.Add(after))
			}
			if d.looping() != test.looping {
				t.Errorf("looping() = %v after deaths at %v", d.looping(), test.after)
			}
			if d.pause() != test.pause {
				t.Errorf("pause() = %s, want %s", d.pause(), test.pause)
			}
		})
	}
}
