package track

import "time"

// Absent is the mark of a copy that should not be there.
const Absent = ""

// sighting is how a copy was last seen: its mark, and when it got it.
type sighting struct {
	mark string
	at   time.Time
}

// tracker holds what was seen and one question about it.
type tracker struct {
	seen   map[string]sighting
	wanted map[string]string
	right  int
}

func newTracker() *tracker { return &tracker{seen: map[string]sighting{}} }

// see notes a copy with its mark, or with Absent that it is gone.
func (t *tracker) see(name, mark string, at time.Time) {
	before := t.seen[name].mark
	if before == mark {
		return // something else about it changed: it has been right since then
	}
	t.seen[name] = sighting{mark: mark, at: at}
	want, asked := t.wanted[name]
	switch {
	case asked && mark == want:
		t.right++
	case asked && before == want:
		t.right--
	}
}

// expect asks when the copies have these marks.
func (t *tracker) expect(marks map[string]string) {
	t.wanted, t.right = marks, 0
	for name, mark := range marks {
		if t.seen[name].mark == mark {
			t.right++
		}
	}
}

// Outcome is the answer to a question about copies.
type Outcome struct {
	// Right is how many of Total copies are as they should be.
	Right, Total int
	// Last is when the last one of those became so; zero when none was seen to.
	Last time.Time
}

// Done reports whether all copies are as they should be.
func (o Outcome) Done() bool { return o.Right == o.Total }

func (t *tracker) done() bool { return t.right == len(t.wanted) }

func (t *tracker) outcome() Outcome {
	o := Outcome{Right: t.right, Total: len(t.wanted)}
	for name, mark := range t.wanted {
		if s := t.seen[name]; s.mark == mark && s.at.After(o.Last) {
			o.Last = s.at
		}
	}
	return o
}
