package klusterlet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// recordLog returns a logger like that of the agents, and the lines that it has logged.
func recordLog(verbosity, limit int) (logr.Logger, *[]string) {
	lines := &[]string{}
	sink := funcr.New(func(_, line string) { *lines = append(*lines, line) }, funcr.Options{Verbosity: verbosity}).GetSink()
	return logr.New(quiet{LogSink: sink, limit: newErrorLimit(limit)}).WithName("controller").WithValues("key", "value"), lines
}

// TestQuiet checks which messages of OCM's controllers are logged, and that names and values, which
// they add, change nothing about it.
func TestQuiet(t *testing.T) {
	for verbosity, want := range map[int]int{0: 1, 1: 2} {
		t.Run(fmt.Sprintf("-v=%d", verbosity), func(t *testing.T) {
			l, lines := recordLog(verbosity, 100)
			l.Info("Starting worker")
			l.Error(nil, "Failed")
			if len(*lines) != want {
				t.Errorf("%d lines, want %d: %q", len(*lines), want, *lines)
			}
		})
	}
}

// TestErrorsAreLimited checks that errors above the limit are dropped and counted.
func TestErrorsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, lines := recordLog(0, 2)
		for range 5 {
			l.Error(errors.New("hub is away"), "Failed")
		}
		time.Sleep(time.Second)
		l.Error(errors.New("hub is away"), "Failed")
		l.Error(errors.New("hub is away"), "Failed")
		reported := slices.IndexFunc(*lines, func(line string) bool { return strings.Contains(line, `"droppedErrors"=3`) })
		if len(*lines) != 4 || reported != 2 {
			t.Errorf("line %d of %d tells the dropped errors, want line 2 of 4: %q", reported, len(*lines), *lines)
		}
	})
}
