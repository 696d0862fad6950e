package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// holding is a Book with the list of the hub that its removals are judged by.
type holding struct {
	*Book
	missing []string
	copies  int
}

// judge makes the hub's list lack these sources of so many copies.
func (h *holding) judge(missing []string, copies int, now time.Time) bool {
	h.missing, h.copies = missing, copies
	return h.Book.judge(missing, copies, now) != nil
}

// remove looks at a name whose source is missing, and returns how long its removal
// waits.
func (h *holding) remove(name string, released bool, seconds int) string {
	turn := h.Begin(Action{Kind: Delete, Name: name}, nil, &Copy{}, Situation{Now: at(seconds), Released: released,
		Missing: func() ([]string, int) { return h.missing, h.copies }})
	return turn.Wait.String()
}

// back looks at a name whose source is there.
func (h *holding) back(name string) {
	h.Begin(Action{Kind: InSync, Name: name}, &Source{}, &Copy{}, Situation{Now: start})
}

// nothing looks at a name while neither its source nor its copy is in the caches.
func (h *holding) nothing(name string) {
	h.End(h.Begin(Action{Kind: Ignore, Name: name}, nil, nil, Situation{Now: start}), nil, start)
}

func (h *holding) held() []string { return h.Troubles().Held }

// TestHold: docs/design.md#rule-10-removals.
func TestHold(t *testing.T) {
	const period = 10 * time.Minute
	five := []string{"a", "b", "c", "d", "e"}
	six := append(slices.Clone(five), "f")
	tests := []struct {
		name, reason string
		do           func(h *holding) any
		want         any
	}{
		{"too many are held", "the hub may have lost them", func(h *holding) any {
			return []any{h.judge(five, 8, start), h.held(), h.remove("a", false, 60)}
		}, []any{true, five, "9m0s"}},
		{"few are not", "a person deleted them", func(h *holding) any {
			return []any{h.judge(five, 10, start), h.held(), h.remove("a", false, 0)}
		}, []any{false, []string(nil), "0s"}},
		{"a watch event", "it was made while the agent was connected", func(h *holding) any {
			h.Deleted("a")
			return h.remove("a", false, 0)
		}, "0s"},
		{"watch events of all", "a person who deletes everything is obeyed", func(h *holding) any {
			for _, name := range five {
				h.Deleted(name)
			}
			return []any{h.judge(five, 5, start), h.held()}
		}, []any{false, []string(nil)}},
		{"a watch event of one that is held", "it was deleted for certain", func(h *holding) any {
			h.judge(five, 8, start)
			h.Deleted("a")
			return []any{h.held(), h.remove("a", false, 1), h.remove("b", false, 1)}
		}, []any{five[1:], "0s", "9m59s"}},
		{"not judged yet", "the rest of the list may follow", func(h *holding) any {
			h.missing, h.copies = []string{"a", "b"}, 8
			return []any{h.remove("a", false, 0), h.remove("b", false, 0), h.remove("a", false, 1)}
		}, []any{"1s", "1s", "0s"}},
		{"not judged yet, and many", "they are held with the first one that is judged", func(h *holding) any {
			h.missing, h.copies = five, 8
			return []any{h.remove("a", false, 0), h.held(), h.remove("a", false, 1), h.held()}
		}, []any{"1s", []string(nil), "10m0s", five}},
		{"its source came back before it was judged", "there is nothing to judge", func(h *holding) any {
			first := h.remove("a", false, 0)
			h.back("a")
			return []any{first, h.remove("a", false, 60)}
		}, []any{"1s", "1s"}},
		{"its source came back after the look, and before it was judged", "a list was behind", func(h *holding) any {
			h.missing, h.copies = []string{"b"}, 8
			return []any{h.remove("a", false, 0), h.remove("a", false, 1)}
		}, []any{"1s", "1s"}},
		{"sources come back", "their copies are not deleted later", func(h *holding) any {
			h.judge(five, 8, start)
			h.back("a")
			h.back("b")
			return []any{h.held(), h.remove("c", false, 601)}
		}, []any{five[2:], "0s"}},
		{"all sources came back, and are lost again", "it is a hold of its own", func(h *holding) any {
			h.judge(five, 8, start)
			for _, name := range five {
				h.back(name)
			}
			return []any{h.judge(five, 8, at(300)), h.remove("a", false, 301)}
		}, []any{true, "9m59s"}},
		{"more are missing while some are held", "they join, and the end stays", func(h *holding) any {
			h.judge(five, 8, start)
			return []any{h.judge(six, 8, at(300)), h.held(), h.remove("f", false, 301)}
		}, []any{false, six, "4m59s"}},
		{"the period ends", "what is still missing is meant so", func(h *holding) any {
			h.judge(five, 8, start)
			return []any{h.remove("a", false, 600), h.held(), h.remove("b", false, 600)}
		}, []any{"0s", []string(nil), "0s"}},
		{"the gate was closed", "the sources could not be restored meanwhile", func(h *holding) any {
			h.judge(five, 8, start)
			h.Suspend()
			return []any{h.remove("a", false, 600), h.held(), h.remove("b", false, 601)}
		}, []any{"10m0s", five, "9m59s"}},
		{"the gate was closed, and it is released", "a person knows", func(h *holding) any {
			h.judge(five, 8, start)
			h.Suspend()
			return h.remove("a", true, 600)
		}, "0s"},
		{"released", "a person knows", func(h *holding) any {
			h.judge(five, 8, start)
			return []any{h.remove("a", true, 1), h.held(), h.remove("b", false, 2)}
		}, []any{"0s", []string(nil), "0s"}},
		{"released before", "a person knows", func(h *holding) any { return h.remove("a", true, 0) }, "0s"},
		{"switched off", "the flag says so", func(h *holding) any {
			h.period = 0
			return []any{h.judge(five, 5, start), h.held(), h.remove("a", false, 0)}
		}, []any{false, []string(nil), "0s"}},
		{"a watch event before the cache shows the new copy", "it is still known when the cache shows it", func(h *holding) any {
			h.missing, h.copies = five, 8
			h.write(Create, "a", nil, start)
			// A change and the deletion came close together: the cache of the hub has both.
			h.nothing("a")
			h.Deleted("a")
			h.nothing("a")
			return []any{h.remove("a", false, 2), h.held()}
		}, []any{"0s", []string(nil)}},
		{"a watch event after the copy was gone", "a copy that comes back later is another matter", func(h *holding) any {
			h.missing, h.copies = five, 8
			h.write(Create, "a", nil, start)
			h.back("a")
			h.Deleted("a")
			h.remove("a", false, 1)
			h.End(Turn{Action: Action{Kind: Delete, Name: "a"}, version: "1"}, nil, at(1))
			h.nothing("a")
			return []any{h.remove("a", false, 2), len(h.records)}
		}, []any{"1s", 1}},
		{"a source that opts out", "the copy goes at once, whatever is held", func(h *holding) any {
			h.judge(five, 8, start)
			turn := h.Begin(Action{Kind: Delete, Name: "a"}, &Source{OptedOut: true}, &Copy{}, Situation{Now: start})
			return []any{turn.Wait, h.held()}
		}, []any{time.Duration(0), five[1:]}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.do(&holding{Book: NewBook(scope, period)})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
