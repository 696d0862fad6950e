package node

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// writeLog writes a log of one run whose lines are a second apart.
func writeLog(t *testing.T, dir string, lines ...string) string {
	t.Helper()
	c := testingclock.NewFakeClock(noon)
	path := filepath.Join(dir, "0.log")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	stream := (&logFile{clock: c, out: out}).stream("stdout")
	for _, line := range lines {
		if _, err := io.WriteString(stream, line); err != nil {
			t.Fatal(err)
		}
		c.Step(time.Second)
	}
	if err := stream.flush(); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadLog(t *testing.T) {
	path := writeLog(t, t.TempDir(), "one\n", "tw", "o\nthree\n", "\n", "five")
	long := writeLog(t, t.TempDir(), strings.Repeat("x", maxLogLine+5)+"\nend\n")
	for _, c := range []struct {
		name  string
		path  string
		query logQuery
		want  string
		why   string
	}{
		{"all", path, logQuery{}, "one\ntwo\nthree\n\nfive\n", "as it was written; a last line gets its end"},
		{"tail", path, logQuery{Tail: 2}, "\nfive\n", "lines from the end"},
		{"more than there is", path, logQuery{Tail: 99}, "one\ntwo\nthree\n\nfive\n", "no more than all"},
		{"since", path, logQuery{Since: noon.Add(3 * time.Second)}, "\nfive\n", "by the time of the line's end"},
		{"limit", path, logQuery{Limit: 6}, "one\ntw", "cut in the middle of a line"},
		{"timestamps", path, logQuery{Tail: 1, Timestamps: true}, "2026-01-01T12:00:05Z five\n", "before each line"},
		{"long line", long, logQuery{}, strings.Repeat("x", maxLogLine+5) + "\nend\n", "its parts are one line again"},
		{"tail after a long line", long, logQuery{Tail: 1}, "end\n", "the parts count as one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			reader := logReader{query: c.query, clock: clock.RealClock{}}
			out, err := reader.open(t.Context(), c.path)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(out)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("%s:\n%s", c.why, diff)
			}
			if err := out.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFollowLog(t *testing.T) {
	path := writeLog(t, t.TempDir(), "one\n")
	var ended atomic.Bool
	reader := logReader{query: logQuery{Follow: true}, clock: clock.RealClock{}, ended: ended.Load}
	out, err := reader.open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 4)
	if _, err := io.ReadFull(out, first); err != nil || string(first) != "one\n" {
		t.Fatalf("%q, %v", first, err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	// a record in two writes, and then the end
	record := formatRecord(noon, "stdout", []byte("two"), false)
	for _, part := range [][]byte{record[:10], record[10:]} {
		if _, err := f.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	ended.Store(true)
	rest, err := io.ReadAll(out)
	if err != nil || string(rest) != "two\n" {
		t.Errorf("%q, %v", rest, err)
	}

	ended.Store(false)
	ctx, cancel := context.WithCancel(t.Context())
	out, err = reader.open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.ReadAll(out); err != nil {
		t.Errorf("a reader that goes away: %v", err)
	}
}

func TestLogStoreKeepsTwoRuns(t *testing.T) {
	store, pod := logStore{t.TempDir()}, onePod()
	for run := range int32(4) {
		f, err := store.create(pod, "c0", run)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(store.dir, "ns_p_u", "c0", "*"))
	if err != nil || len(files) != 2 || filepath.Base(files[0]) != "2.log" {
		t.Errorf("logs %v, %v; want the last two", files, err)
	}
	if err := store.keep(nil); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(store.dir); err != nil || len(entries) != 0 {
		t.Errorf("left of pods that are gone: %v, %v", entries, err)
	}
}

func TestTerminationMessage(t *testing.T) {
	log := writeLog(t, t.TempDir(), "first\n", "last words\n")
	file := filepath.Join(t.TempDir(), "message")
	fallback := corev1.Container{TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError}
	if got := terminationMessage(fallback, file, log, true); got != "first\nlast words" {
		t.Errorf("the log's end: %q", got)
	}
	if got := terminationMessage(fallback, file, log, false); got != "" {
		t.Errorf("nothing after a success: %q", got)
	}
	if got := terminationMessage(corev1.Container{}, file, log, true); got != "" {
		t.Errorf("only where it is asked for: %q", got)
	}
	if err := os.WriteFile(file, []byte("why"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := terminationMessage(fallback, file, log, true); got != "why" {
		t.Errorf("the file comes first: %q", got)
	}
}

func TestValidateReportsEverything(t *testing.T) {
	err := Options{Name: "Not A Name", Port: 70000, BackOff: plan.BackOff{Initial: 2, Max: 1}}.Validate()
	for _, part := range []string{`"Not A Name"`, "Config", "Images", "Runtime", "Network", "Address", "70000", "API server", "state directory", "log directory", "certificate file", "key file", "client CA file", "back-off"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("not told: %s", part)
		}
	}
	if lines := strings.Count(fmt.Sprint(err), "\n") + 1; lines != 14 {
		t.Errorf("%d problems are told, want 14:\n%v", lines, err)
	}
}

func TestNodeObject(t *testing.T) {
	n := nodeObject("n", netip.MustParseAddr("10.0.0.1"), 10250, 2, noon)
	if n.Labels[corev1.LabelOSStable] != "linux" || n.Status.Addresses[0].Address != "10.0.0.1" || n.Status.DaemonEndpoints.KubeletEndpoint.Port != 10250 {
		t.Errorf("node: %+v", n)
	}
	if c := n.Status.Conditions[0]; c.Type != corev1.NodeReady || c.Status != corev1.ConditionTrue {
		t.Errorf("condition: %+v", c)
	}
}
