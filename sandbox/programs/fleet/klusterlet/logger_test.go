package klusterlet

import (
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// TestQuiet checks which messages of OCM's controllers are logged, and that names and values, which
// they add, change nothing about it.
func TestQuiet(t *testing.T) {
	for verbosity, want := range map[int]int{0: 1, 1: 2} {
		t.Run(fmt.Sprintf("-v=%d", verbosity), func(t *testing.T) {
			lines := 0
			sink := funcr.New(func(string, string) { lines++ }, funcr.Options{Verbosity: verbosity}).GetSink()
			l := logr.New(quiet{sink}).WithName("controller").WithValues("key", "value")
			l.Info("Starting worker")
			l.Error(nil, "Failed")
			if lines != want {
				t.Errorf("%d lines, want %d", lines, want)
			}
		})
	}
}
