package measure

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/test/bench/track"
)

func valid() Options {
	o := Full()
	o.Sandbox, o.Kubectl, o.Deploy, o.Image, o.ImageRoot = "s", "k", "d", "i", "r"
	o.FloorRoot, o.RivalRoot, o.RivalDeploy = "f", "r", "d"
	return o
}

func TestValidate(t *testing.T) {
	cases := []struct {
		name, why string
		change    func(*Options)
		want      []string // a part of every problem, sorted
	}{
		{"full", "the full run is right", func(*Options) {}, nil},
		{"quick", "and so is the quick one", func(o *Options) { o.Quicken(func(string) bool { return false }) }, nil},
		{"several", "all problems at once", func(o *Options) { o.Changes, o.Idle, o.Image = 0, 0, "" },
			[]string{"--changes=0", "--idle=0s", "--image is empty"}},
		{"too few", "more are there by then than are asked for", func(o *Options) { o.Many = 3000 }, []string{"--many=3000"}},
		{"unknown", "the subjects are named", func(o *Options) { o.Subjects = []string{"theirs"} }, []string{"floor,ours,rival"}},
		{"not measured", "what is not measured needs nothing", func(o *Options) { o.Subjects, o.RivalRoot = []string{"floor"}, "" }, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o := valid()
			c.change(&o)
			var got []string
			if err := o.Validate(); err != nil {
				got = strings.Split(err.Error(), "\n")
			}
			if len(got) != len(c.want) {
				t.Fatalf("%s: got %q, want %q", c.why, got, c.want)
			}
			for i := range got {
				if !strings.Contains(got[i], c.want[i]) {
					t.Errorf("%s: got %q, want %q in it", c.why, got[i], c.want[i])
				}
			}
		})
	}
}

func TestQuickenKeepsWhatWasSet(t *testing.T) {
	o := valid()
	o.Changes, o.Idle = 7, time.Hour
	o.Quicken(func(flag string) bool { return flag == "changes" || flag == "idle" })
	if o.Changes != 7 || o.Idle != time.Hour || o.Bulk == Full().Bulk {
		t.Errorf("got changes %d, idle %s, bulk %d", o.Changes, o.Idle, o.Bulk)
	}
}

func TestConfigMapHasTheSize(t *testing.T) {
	for _, mark := range []string{"1", "123456"} {
		got := 0
		for key, value := range configMap("a", mark).Data {
			got += len(key) + len(value)
		}
		if got != size {
			t.Errorf("mark %s: got %d bytes, want %d", mark, got, size)
		}
	}
}

func TestOutcomes(t *testing.T) {
	start := time.Unix(100, 0)
	half := track.Outcome{Right: 5, Total: 10, Last: start.Add(2 * time.Second)}
	whole := track.Outcome{Right: 10, Total: 10, Last: start.Add(4 * time.Second)}
	if got := rate(half, half.Last.Sub(start)); got != 2.5 {
		t.Errorf("the rate of what came: got %v, want 2.5", got)
	}
	if got := since(half, start); !math.IsNaN(got) {
		t.Errorf("a restart that never got in sync has no time: got %v", got)
	}
	if got := since(whole, start); got != 4 {
		t.Errorf("restart: got %v, want 4", got)
	}
	if got := shortfall(half, time.Minute); got != "after 1m0s 5 of 10 copies are right" {
		t.Errorf("shortfall: got %q", got)
	}
	if got := shortfall(whole, time.Minute); got != "" {
		t.Errorf("nothing falls short: got %q", got)
	}
}

func TestLogShowsWholeLines(t *testing.T) {
	var out bytes.Buffer
	l := newLog(&out)
	for _, piece := range []string{"a", "=", "b\nc", "\nunfinished"} {
		if n, err := l.Write([]byte(piece)); err != nil || n != len(piece) {
			t.Fatalf("write: %d, %v", n, err)
		}
	}
	want := strings.Repeat(" ", 15) + "| a=b\n" + strings.Repeat(" ", 15) + "| c\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
