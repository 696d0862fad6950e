package process

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSwitchStopsAndStartsAProgram(t *testing.T) {
	dir := t.TempDir()
	sw := SwitchOf(dir, "program")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		done <- Keep(ctx, Spec{Name: "test", Path: "/bin/sleep", Args: []string{"60"}, Log: filepath.Join(dir, "log"), Switch: sw},
			func(err *LoopError) { t.Errorf("a program that is stopped on request does not die: %v", err) })
	}()
	running := filepath.Join(dir, "programs", "program"+runningSuffix)
	waitFor(t, running)
	first, err := os.ReadFile(running)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 { // more often than a program may die in a minute
		if err := sw.Off(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := sw.On(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if second, err := os.ReadFile(running); err != nil || string(second) == string(first) {
		t.Errorf("the program was not started anew: pid %s, then %s, %v", first, second, err)
	}
	names, err := Switches(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"program"}, names); diff != "" {
		t.Error(diff)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Keep: %v", err)
	}
}
