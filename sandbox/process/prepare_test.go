package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// TestPrepareTellsANewPodFromARestart: a program that ends by itself is a
// container that is restarted; one that was switched off is a new pod.
func TestPrepareTellsANewPodFromARestart(t *testing.T) {
	dir := t.TempDir()
	sw := SwitchOf(dir, "program")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var fresh []bool
	spec := Spec{Name: "test", Path: "/bin/sh", Args: []string{"-c", `test -e "$1" || { touch "$1"; exit 1; }; touch "$1.second"; exec sleep 60`, "sh"},
		Log: filepath.Join(dir, "log"), Switch: sw,
		Prepare: func(anew bool) ([]string, string, error) {
			fresh = append(fresh, anew)
			return []string{filepath.Join(dir, "first")}, missingIf(len(fresh) == 1), nil
		}}
	done := make(chan error, 1)
	go func() { done <- Keep(ctx, spec, func(*LoopError) {}) }()
	waitFor(t, filepath.Join(dir, "first.second"))
	if err := errors.Join(sw.Off(t.Context()), sw.On(t.Context())); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	// not ready, started, restarted after it had died, started after the switch
	for i, want := range []bool{true, true, false, true} {
		if i >= len(fresh) || fresh[i] != want {
			t.Fatalf("fresh was %v at the calls of Prepare", fresh)
		}
	}
}

// missingIf returns what Prepare returns for a program that waits for a Secret, or "".
func missingIf(waits bool) string {
	if waits {
		return "Secret a/b"
	}
	return ""
}

func TestPrepareThatFailsIsNamed(t *testing.T) {
	err := Keep(t.Context(), Spec{Name: "cluster1/work-agent", Path: "/bin/true", Log: filepath.Join(t.TempDir(), "log"),
		Prepare: func(bool) ([]string, string, error) { return nil, "", os.ErrPermission }}, nil)
	if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "cluster1/work-agent") {
		t.Errorf("Keep = %v", err)
	}
}

// TestAProgramThatDoesNotRunIsStoppedAndStarted: a program that waits to be restarted is listed, and
// is a new pod once it was stopped and started.
func TestAProgramThatDoesNotRunIsStoppedAndStarted(t *testing.T) {
	dir := t.TempDir()
	sw := SwitchOf(dir, "program")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var fresh []bool
	var listed []string
	spec := Spec{Name: "test", Path: "/bin/false", Log: filepath.Join(dir, "log"), Switch: sw,
		Prepare: func(anew bool) ([]string, string, error) {
			switch fresh = append(fresh, anew); len(fresh) {
			case 2: // the program has ended and does not run
				var err error
				if listed, err = Switches(dir); err != nil {
					t.Error(err)
				}
				if err := sw.Off(ctx); err != nil {
					t.Error(err)
				}
				soon, stop := context.WithCancel(ctx)
				stop()
				_ = sw.On(soon) // Keep, which waits for this function, cannot start it now
			case 3:
				cancel()
			}
			return nil, missingIf(len(fresh) > 1), nil
		}}
	if err := Keep(ctx, spec, func(*LoopError) {}); err != nil {
		t.Fatal(err)
	}
	if want := []bool{true, false, true}; !slices.Equal(fresh, want) {
		t.Errorf("fresh was %v at the calls of Prepare, not %v", fresh, want)
	}
	if want := []string{"program"}; !slices.Equal(listed, want) {
		t.Errorf("Switches = %v, want %v", listed, want)
	}
}

// TestStartNamesWhatTheProgramWaitsFor: the error of a start that takes too long names what is
// missing, but only as long as that is missing.
func TestStartNamesWhatTheProgramWaitsFor(t *testing.T) {
	dir := t.TempDir()
	sw := SwitchOf(dir, "program")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	soon, stop := context.WithCancel(ctx)
	stop()
	var waits atomic.Bool
	waits.Store(true)
	done := make(chan error, 1)
	go func() {
		done <- Keep(ctx, Spec{Name: "test", Path: "/bin/sleep", Args: []string{"60"}, Log: filepath.Join(dir, "log"), Switch: sw,
			Prepare: func(bool) ([]string, string, error) { return nil, missingIf(waits.Load()), nil }}, func(*LoopError) {})
	}()
	waiting := filepath.Join(dir, "programs", "program"+waitingSuffix)
	waitFor(t, waiting)
	if err := sw.On(soon); err == nil || !strings.Contains(err.Error(), "start program: ") || !strings.Contains(err.Error(), "it waits for the Secret a/b") {
		t.Errorf("On of a program that waits = %v", err)
	}
	waits.Store(false)
	if err := sw.On(ctx); err != nil {
		t.Errorf("On = %v", err)
	}
	if exists(waiting) {
		t.Errorf("%s is there although the program runs", waiting)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Keep: %v", err)
	}
}
