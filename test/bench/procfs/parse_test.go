package procfs

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseStat(t *testing.T) {
	got, err := parseStat([]byte("42 (a (b) c) S 7 42 42 0 -1 4194560 900 0 0 0 13 4 0 0 20 0 9 0 123456 1 2 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := stat{parent: 7, cpu: 170 * time.Millisecond}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(stat{})); diff != "" {
		t.Errorf("stat (-want +got):\n%s", diff)
	}
	for _, wrong := range []string{"", "42 (x) S 7", "42 (x) S 7 42 42 0 -1 4194560 900 0 0 0 x 4 0 0"} {
		if _, err := parseStat([]byte(wrong)); err == nil {
			t.Errorf("%q: no error", wrong)
		}
	}
}

func TestStatusBytes(t *testing.T) {
	content := []byte("Name:\tx\nVmRSS:\t   22528 kB\nRssAnon:\t    8192 kB\n")
	if got, err := statusBytes(content, "RssAnon"); err != nil || got != 8<<20 {
		t.Errorf("RssAnon: got %d, %v", got, err)
	}
	if _, err := statusBytes(content, "RssShmem"); err == nil {
		t.Error("a missing field: no error")
	}
}

func TestMatches(t *testing.T) {
	cases := []struct {
		name, why string
		args      []string
		program   string
		with      []string
		want      bool
	}{
		{"by name", "a program is called by its path or its name", []string{"/usr/local/bin/floor"}, "floor", nil, true},
		{"another", "a longer name is another program", []string{"floorboard"}, "floor", nil, false},
		{"sub-command", "one program may be controller and agent", []string{"/helloworld", "agent", "--x"}, "helloworld", []string{"agent"}, true},
		{"other sub-command", "the controller is not the agent", []string{"/helloworld", "controller"}, "helloworld", []string{"agent"}, false},
		{"ended", "a process that has ended has no arguments", nil, "floor", nil, false},
	}
	for _, c := range cases {
		if got := matches(c.args, c.program, c.with...); got != c.want {
			t.Errorf("%s (%s): got %v", c.name, c.why, got)
		}
	}
}

func TestDescends(t *testing.T) {
	parents := map[int]int{5: 1, 6: 5, 7: 6, 8: 1, 20: 21, 21: 20}
	cases := []struct {
		name     string
		pid, of  int
		expected bool
	}{
		{"child", 6, 5, true}, {"grandchild", 7, 5, true}, {"of another sandbox", 8, 5, false},
		{"itself", 5, 5, false}, {"a circle ends", 20, 5, false},
	}
	for _, c := range cases {
		if got := descends(parents, c.pid, c.of); got != c.expected {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
}

func TestParseLoad(t *testing.T) {
	if got, err := parseLoad([]byte("23.06 21.87 22.21 30/1200 9415\n")); err != nil || got != 23.06 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := parseLoad(nil); err == nil {
		t.Error("nothing: no error")
	}
}
