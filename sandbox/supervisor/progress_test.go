package supervisor

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFollow(t *testing.T) {
	for _, test := range []struct {
		name  string
		tell  func(*Progress)
		steps []string
		err   string
	}{
		{"ready after its steps", func(p *Progress) { p.Step("%s ready", "hub"); p.Step("joined"); p.Ready() }, []string{"hub ready", "joined"}, ""},
		{"an error ends it", func(p *Progress) { p.Step("one"); p.Failed(errors.New("no space left")) }, []string{"one"}, "no space left"},
		{"nothing is told after the end", func(p *Progress) { p.Ready(); p.Failed(errors.New("late")) }, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			reader, writer := io.Pipe()
			go test.tell(NewProgress(writer))
			var steps []string
			err := Follow(reader, func(step string) { steps = append(steps, step) })
			if diff := cmp.Diff(test.steps, steps); diff != "" {
				t.Error(diff)
			}
			if (err == nil) != (test.err == "") || (err != nil && err.Error() != test.err) {
				t.Errorf("Follow = %v, want %q", err, test.err)
			}
		})
	}
}

func TestFollowASupervisorThatDies(t *testing.T) {
	if err := Follow(strings.NewReader(`{"step":"one"}`+"\n"), func(string) {}); err == nil {
		t.Error("a supervisor that ended without a word looks ready")
	}
}
