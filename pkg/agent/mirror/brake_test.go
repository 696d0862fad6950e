package mirror

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestExceeds(t *testing.T) {
	tests := []struct {
		name, reason    string
		missing, copies int
		want            bool
	}{
		{"nothing", "there is nothing to hold", 0, 0, false},
		{"all of three", "a person may have deleted so few", 3, 3, false},
		{"all of four", "the hub may have lost them", 4, 4, true},
		{"half", "as many are there as are missing", 50, 100, false},
		{"more than half", "the hub may have lost them", 51, 100, true},
		{"100 of 5,000", "a clean-up while the agent was away", 100, 5000, false},
		{"all of 5,000", "the hub was restored without ConfigMaps", 5000, 5000, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := exceeds(test.missing, test.copies); got != test.want {
				t.Errorf("%s: got %t", test.reason, got)
			}
		})
	}
}

func TestBrake(t *testing.T) {
	const period = 10 * time.Minute
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	five := []string{"a", "b", "c", "d", "e"}
	held := func(b *brake) []string { names, _ := b.sorted(); return names }
	wait := func(b *brake, name string, released bool, seconds int) string {
		wait, judge := b.wait(name, released, at(seconds))
		return fmt.Sprint(wait, " ", judge)
	}
	tests := []struct {
		name, reason string
		do           func(b *brake) any
		want         any
	}{
		{"too many are held", "the hub may have lost them", func(b *brake) any {
			return []any{b.judge(five, 8, start), held(b), wait(b, "a", false, 60)}
		}, []any{true, five, "9m0s false"}},
		{"few are not", "a person deleted them", func(b *brake) any {
			return []any{b.judge(five, 10, start), held(b), wait(b, "a", false, 0)}
		}, []any{false, []string(nil), "0s false"}},
		{"a watch event", "it was made while the agent was connected", func(b *brake) any {
			b.tell("a")
			return wait(b, "a", false, 0)
		}, "0s false"},
		{"watch events of all", "a person who deletes everything is obeyed", func(b *brake) any {
			for _, name := range five {
				b.tell(name)
			}
			return []any{b.judge(five, 5, start), held(b)}
		}, []any{false, []string(nil)}},
		{"a watch event of one that is held", "it was deleted for certain", func(b *brake) any {
			b.judge(five, 8, start)
			b.tell("a")
			return []any{held(b), wait(b, "a", false, 1), wait(b, "b", false, 1)}
		}, []any{five[1:], "0s false", "9m59s false"}},
		{"not judged yet", "the rest of the list may follow", func(b *brake) any {
			return []any{wait(b, "a", false, 0), wait(b, "b", false, 0), wait(b, "a", false, 1)}
		}, []any{"1s false", "1s false", "0s true"}},
		{"its source came back before it was judged", "there is nothing to judge", func(b *brake) any {
			first := wait(b, "a", false, 0)
			b.forget("a")
			return []any{first, wait(b, "a", false, 60)}
		}, []any{"1s false", "1s false"}},
		{"sources come back", "their copies are not deleted later", func(b *brake) any {
			b.judge(five, 8, start)
			b.forget("a")
			b.forget("b")
			return []any{held(b), wait(b, "c", false, 601)}
		}, []any{five[2:], "0s false"}},
		{"all sources came back, and are lost again", "it is a hold of its own", func(b *brake) any {
			b.judge(five, 8, start)
			for _, name := range five {
				b.forget(name)
			}
			return []any{b.judge(five, 8, at(300)), wait(b, "a", false, 301)}
		}, []any{true, "9m59s false"}},
		{"more are missing while some are held", "they join, and the end stays", func(b *brake) any {
			b.judge(five, 8, start)
			return []any{b.judge(append(slices.Clone(five), "f"), 8, at(300)), held(b), wait(b, "f", false, 301)}
		}, []any{false, append(slices.Clone(five), "f"), "4m59s false"}},
		{"the period ends", "what is still missing is meant so", func(b *brake) any {
			b.judge(five, 8, start)
			return []any{wait(b, "a", false, 600), held(b), wait(b, "b", false, 600)}
		}, []any{"0s false", []string(nil), "0s false"}},
		{"the gate was closed", "nobody could restore the sources meanwhile", func(b *brake) any {
			b.judge(five, 8, start)
			b.suspend()
			return []any{wait(b, "a", false, 600), held(b), wait(b, "b", false, 601)}
		}, []any{"10m0s false", five, "9m59s false"}},
		{"the gate was closed, and it is released", "a person knows", func(b *brake) any {
			b.judge(five, 8, start)
			b.suspend()
			return wait(b, "a", true, 600)
		}, "0s false"},
		{"released", "a person knows", func(b *brake) any {
			b.judge(five, 8, start)
			return []any{wait(b, "a", true, 1), held(b), wait(b, "b", false, 2)}
		}, []any{"0s false", []string(nil), "0s false"}},
		{"released before", "a person knows", func(b *brake) any {
			return wait(b, "a", true, 0)
		}, "0s false"},
		{"switched off", "the flag says so", func(b *brake) any {
			b.period = 0
			return []any{b.judge(five, 5, start), held(b), wait(b, "a", false, 0)}
		}, []any{false, []string(nil), "0s false"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.do(newBrake(period))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
