package container

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseUsage(t *testing.T) {
	stat := "7 (a ) b) S 1 7 7 0 -1 4194560 100 0 0 0 11 22 33 44 20 0 1 0 500 1000000 3 18446744073709551615"
	want := Usage{CPU: 110 * 10 * time.Millisecond, Memory: 3 * int64(os.Getpagesize())}
	if diff := cmp.Diff(want, parseUsage([]byte(stat))); diff != "" {
		t.Error(diff)
	}
	if got := parseUsage([]byte("7 (a) Z 1")); got != (Usage{}) {
		t.Errorf("an incomplete line: %+v", got)
	}
}

func TestContainerMeasure(t *testing.T) {
	var out buffer
	busy := begin(t, spec(t, image(t, nil), "busy"), nil, &out)
	idle := begin(t, spec(t, image(t, nil), "wait"), nil, nil)
	further, err := idle.Exec(t.Context(), ExecSpec{Args: []string{probeName, "wait"}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "its child has used the processor", func() bool { return strings.Contains(out.String(), "child ended") })
	usages, err := Measure([]*Process{busy, idle})
	if err != nil {
		t.Fatal(err)
	}
	if got := usages[0].CPU; got < 200*time.Millisecond {
		t.Errorf("the busy container's child, which has ended, used %s", got)
	}
	if usages[1].CPU >= usages[0].CPU || usages[1].Memory < 1<<20 {
		t.Errorf("the idle container: %+v, the busy one: %+v", usages[1], usages[0])
	}
	if err := further.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := further.Wait(); err != nil {
		t.Fatal(err)
	}
	fewer, err := Measure([]*Process{idle})
	if err != nil || fewer[0].Memory > usages[1].Memory*2/3 {
		t.Errorf("without its further program: %+v, before %+v, %v", fewer, usages[1], err)
	}
}
