package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// switchPeriod is the period with which a switch is read.
	switchPeriod = 100 * time.Millisecond
	// switchTimeout limits the wait for a program to stop or to start.
	switchTimeout = 30 * time.Second

	keptSuffix, runningSuffix, waitingSuffix, stoppedSuffix, restartedSuffix = ".kept", ".running", ".waiting", ".stopped", ".restarted"
)

// Switch stops and starts a program that another process runs by Keep. Of its files, NAME.kept
// exists since Keep was called, NAME.running while the program runs, NAME.waiting with what is missing
// while it cannot start, NAME.stopped while it should not run, and NAME.restarted from then on until
// Keep notices that it should run again. The zero Switch is always on.
type Switch struct{ base string }

// SwitchOf returns the switch of a program in the cluster's directory.
func SwitchOf(clusterDir, name string) Switch {
	return Switch{base: filepath.Join(switchDir(clusterDir), name)}
}

func switchDir(clusterDir string) string { return filepath.Join(clusterDir, "programs") }

// Switches returns the names of the programs in the cluster's directory, sorted.
func Switches(clusterDir string) ([]string, error) {
	entries, err := os.ReadDir(switchDir(clusterDir))
	if err != nil {
		return nil, fmt.Errorf("list the programs: %w", err)
	}
	var names []string
	for _, entry := range entries {
		if name, ok := strings.CutSuffix(entry.Name(), keptSuffix); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Off stops the program and returns when it has ended.
func (s Switch) Off(ctx context.Context) error {
	if err := os.WriteFile(s.base+stoppedSuffix, nil, 0o600); err != nil {
		return fmt.Errorf("stop %s: %w", filepath.Base(s.base), err)
	}
	return s.await(ctx, false, "stop")
}

// On starts the program and returns when it runs. The error names what the program waits for.
func (s Switch) On(ctx context.Context) error {
	if err := os.Rename(s.base+stoppedSuffix, s.base+restartedSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("start %s: %w", filepath.Base(s.base), err)
	}
	return s.await(ctx, true, "start")
}

func (s Switch) await(ctx context.Context, running bool, verb string) error {
	ctx, cancel := context.WithTimeout(ctx, switchTimeout)
	defer cancel()
	for exists(s.base+runningSuffix) != running {
		select {
		case <-ctx.Done():
			err := fmt.Errorf("%s %s: not done within %s", verb, filepath.Base(s.base), switchTimeout)
			if missing, readErr := os.ReadFile(s.base + waitingSuffix); running && readErr == nil {
				err = fmt.Errorf("%w: it waits for the %s, and starts by itself when there is one", err, missing)
			}
			return err
		case <-time.After(switchPeriod):
		}
	}
	return nil
}

// Running reports whether the program runs.
func (s Switch) Running() bool { return s.base == "" || exists(s.base+runningSuffix) }

// Stopped reports whether the program is stopped by Off, or about to be.
func (s Switch) Stopped() bool { return s.base != "" && exists(s.base+stoppedSuffix) }

// restarted reports whether the program was stopped and started since the last call. Keep does not
// see that by Stopped alone, for example if both happen in its pause before a restart.
func (s Switch) restarted() bool { return s.base != "" && os.Remove(s.base+restartedSuffix) == nil }

// waitOn waits until the program is to run. It returns false if ctx ends first.
func (s Switch) waitOn(ctx context.Context) bool {
	for s.Stopped() && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(switchPeriod):
		}
	}
	return ctx.Err() == nil
}

// watch waits for the program's end. It calls stop when the switch is off.
func (s Switch) watch(ended <-chan error, stop func()) error {
	ticker := time.NewTicker(switchPeriod)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-ticker.C:
			if s.Stopped() {
				stop()
			}
		}
	}
}

// kept creates the file by which Switches lists the program.
func (s Switch) kept() error {
	if s.base == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(s.base), 0o700); err != nil {
		return fmt.Errorf("create the programs' directory: %w", err)
	}
	if err := os.WriteFile(s.base+keptSuffix, nil, 0o600); err != nil {
		return fmt.Errorf("write the file of a program: %w", err)
	}
	return nil
}

// waiting writes what the program waits for to its file, which it removes if nothing is missing.
func (s Switch) waiting(missing string) error {
	if s.base == "" {
		return nil
	}
	file := s.base + waitingSuffix
	present, err := os.ReadFile(file)
	switch {
	case missing == "" && err == nil:
		err = os.Remove(file)
	case missing != string(present):
		if err = os.WriteFile(file+".new", []byte(missing), 0o600); err == nil {
			err = os.Rename(file+".new", file)
		}
	default:
		err = nil
	}
	if err != nil {
		return fmt.Errorf("write the file of a waiting program: %w", err)
	}
	return nil
}

// running and ended create and remove the file of the running program.
func (s Switch) running(pid int) error {
	if s.base == "" {
		return nil
	}
	if err := os.WriteFile(s.base+runningSuffix, []byte(strconv.Itoa(pid)), 0o600); err != nil {
		return fmt.Errorf("write the file of a running program: %w", err)
	}
	return nil
}

func (s Switch) ended() error {
	if s.base == "" {
		return nil
	}
	if err := os.Remove(s.base + runningSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the file of a running program: %w", err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
