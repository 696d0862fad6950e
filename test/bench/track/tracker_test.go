package track

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTracker(t *testing.T) {
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	type event struct {
		name, mark string
		second     int
	}
	cases := []struct {
		name, why     string
		before, after []event // the question comes between the two
		wanted        map[string]string
		want          Outcome
	}{
		{name: "seen before the question", why: "an event may overtake the question",
			before: []event{{"a", "1", 3}}, wanted: map[string]string{"a": "1"},
			want: Outcome{Right: 1, Total: 1, Last: at(3)}},
		{name: "the last of many", why: "the time is that of the last one that was wanted",
			after:  []event{{"a", "1", 3}, {"b", "1", 5}, {"c", "1", 9}},
			wanted: map[string]string{"a": "1", "b": "1"}, want: Outcome{Right: 2, Total: 2, Last: at(5)}},
		{name: "touched later", why: "another label on a copy that is right does not make it late",
			after:  []event{{"a", "1", 3}, {"a", "1", 8}},
			wanted: map[string]string{"a": "1"}, want: Outcome{Right: 1, Total: 1, Last: at(3)}},
		{name: "changed and back", why: "it is right since it came back",
			after:  []event{{"a", "1", 3}, {"a", "0", 4}, {"a", "1", 6}},
			wanted: map[string]string{"a": "1"}, want: Outcome{Right: 1, Total: 1, Last: at(6)}},
		{name: "gone", why: "a deletion is waited for as a change is",
			before: []event{{"a", "1", 3}}, after: []event{{"a", Absent, 7}},
			wanted: map[string]string{"a": Absent}, want: Outcome{Right: 1, Total: 1, Last: at(7)}},
		{name: "not all", why: "how far it got is told",
			before: []event{{"a", "1", 3}}, wanted: map[string]string{"a": "1", "b": "1"},
			want: Outcome{Right: 1, Total: 2, Last: at(3)}},
		{name: "wrong again", why: "a copy that is overwritten is not right any more",
			before: []event{{"a", "1", 3}}, after: []event{{"a", "2", 4}},
			wanted: map[string]string{"a": "1"}, want: Outcome{Right: 0, Total: 1}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tracker := newTracker()
			for _, e := range c.before {
				tracker.see(e.name, e.mark, at(e.second))
			}
			tracker.expect(c.wanted)
			for _, e := range c.after {
				tracker.see(e.name, e.mark, at(e.second))
			}
			if diff := cmp.Diff(c.want, tracker.outcome()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.why, diff)
			}
			if tracker.done() != c.want.Done() {
				t.Errorf("done: got %v, want %v", tracker.done(), c.want.Done())
			}
		})
	}
}
