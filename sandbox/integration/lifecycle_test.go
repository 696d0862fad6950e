//go:build sandbox

package integration

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"open-cluster-management.io/helloworld-addon/sandbox/statedir"
)

// processes are those on the machine that were given a path of the sandbox.
func (s *sandbox) processes() []string {
	var all []string
	for _, p := range statedir.Processes(s.dir) {
		all = append(all, strings.Join(p.Args, " "))
	}
	return all
}

func (s *sandbox) requireGone() {
	s.t.Helper()
	if left := s.processes(); len(left) > 0 {
		s.t.Errorf("processes are left:\n%s", strings.Join(left, "\n"))
	}
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		s.t.Errorf("%s is left: %v", s.dir, err)
	}
}

func TestTwoSandboxesSideBySide(t *testing.T) {
	one, two := newSandbox(t), newSandbox(t)
	one.up("--clusters=2")
	two.up("--clusters=1")
	for s, want := range map[*sandbox]string{one: "cluster1 cluster2", two: "cluster1"} {
		got, err := s.kubectl("hub", "get", "managedclusters", "-o", "jsonpath={.items[*].metadata.name}")
		if err != nil || got != want {
			t.Errorf("the hub of %s knows %q, %v, want %q", s.dir, got, err, want)
		}
	}
	if len(one.processes()) < 20 {
		t.Errorf("a hub and two clusters should be at least 20 programs; if they are not found, nothing below can fail: %v", one.processes())
	}
	if out, err := one.run(t.Context(), "up"); err == nil || !strings.Contains(out, "running here already") {
		t.Errorf("a second up in the same directory = %v\n%s", err, out)
	}
	if out, err := one.run(t.Context(), "down"); err != nil {
		t.Fatalf("down: %v\n%s", err, out)
	}
	one.requireGone()
	if got, err := two.kubectl("hub", "get", "--raw", "/readyz"); err != nil || got != "ok" {
		t.Errorf("the other sandbox's hub is not ready after the first one's end: %q, %v", got, err)
	}
}

func TestAKilledSandboxLeavesNothingRunning(t *testing.T) {
	s := newSandbox(t)
	s.up("--clusters=1")
	record, err := statedir.Read(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(record.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the kernel ends the supervisor's processes", func() error {
		if left := s.processes(); len(left) > 0 {
			return &leftError{left}
		}
		return nil
	})
	if out := s.up("--clusters=1"); !strings.Contains(out, "crashed") {
		t.Errorf("up does not say that it removed what the crashed sandbox left:\n%s", out)
	}
	if out, err := s.run(t.Context(), "down"); err != nil {
		t.Fatalf("down: %v\n%s", err, out)
	}
	s.requireGone()
}

type leftError struct{ left []string }

func (e *leftError) Error() string { return strings.Join(e.left, "\n") }

func TestAnInterruptedUpLeavesNothing(t *testing.T) {
	s := newSandbox(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if len(s.processes()) > 5 { // the control planes are starting
				return
			}
		}
	}()
	out, err := s.run(ctx, "up", "--clusters=1")
	if err == nil || !strings.Contains(out, "interrupted") {
		t.Errorf("up = %v\n%s", err, out)
	}
	s.requireGone()
}

func TestAKilledUpCanBeCleanedUp(t *testing.T) {
	s := newSandbox(t)
	cmd := s.command(t.Context(), "up", "--clusters=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the control planes start", func() error {
		if n := len(s.processes()); n <= 5 {
			return &leftError{s.processes()}
		}
		return nil
	})
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if out, err := s.run(t.Context(), "down"); err != nil {
		t.Fatalf("down: %v\n%s", err, out)
	}
	s.requireGone()
}

func TestProgramsCanBeStoppedAndStarted(t *testing.T) {
	s := newSandbox(t)
	s.up("--clusters=1")
	if out, err := s.run(t.Context(), "stop", "cluster1/kube-apiserver"); err != nil {
		t.Fatalf("stop: %v\n%s", err, out)
	}
	if out, err := s.kubectl("cluster1", "get", "--raw", "/readyz"); err == nil {
		t.Errorf("an API server that was stopped answers: %s", out)
	}
	if out, err := s.run(t.Context(), "start", "cluster1/kube-apiserver"); err != nil {
		t.Fatalf("start: %v\n%s", err, out)
	}
	eventually(t, "the API server is back", func() error {
		_, err := s.kubectl("cluster1", "get", "--raw", "/readyz")
		return err
	})
	if out, err := s.run(t.Context(), "restart", "hub/nothing"); err == nil || !strings.Contains(out, "hub/addon-webhook") {
		t.Errorf("restart of an unknown program = %v, and does not say which there are:\n%s", err, out)
	}
}
