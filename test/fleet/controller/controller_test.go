package controller

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestProcess(t *testing.T) {
	dir := t.TempDir()
	start := func(script string) *Process {
		t.Helper()
		p, err := Start(Options{Name: "it", Dir: dir, Program: "sh", Args: []string{"-c", script}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := start(`echo "pod $POD_NAME"; trap 'echo asked; exit 0' TERM; while :; do sleep 0.05; done`)
	log := func() string {
		content, err := os.ReadFile(filepath.Join(dir, "it.log"))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	for end := time.Now().Add(10 * time.Second); !strings.Contains(log(), "pod it"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the log has no line with the pod's name: %s", log())
		}
	}
	if err := p.Err(); err != nil {
		t.Errorf("it runs: %v", err)
	}
	if usage, err := p.Usage(); err != nil || usage.RSS <= 0 {
		t.Errorf("usage: %v, %v", usage, err)
	}
	if err := p.Stop(); err != nil || !strings.Contains(log(), "asked") {
		t.Errorf("it was not asked to end: %v, %s", err, log())
	}
	p = start(`trap 'echo killed politely' TERM; while :; do sleep 0.05; done`)
	if logged, err := p.Logged("asked"); err != nil || logged {
		t.Errorf("what an earlier process logged counts for a later one: %v, %v", logged, err)
	}
	if err := p.Kill(); err != nil || strings.Contains(log(), "politely") {
		t.Errorf("killed: %v, %s", err, log())
	}
}

// TestProcessThatEnds: one that ends is started again, and one that ends again and again is an error.
func TestProcessThatEnds(t *testing.T) {
	dir := t.TempDir()
	p, err := Start(Options{Name: "it", Dir: dir, Program: "sh", Args: []string{"-c", "echo started; exit 3"}})
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); p.Err() == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no error")
		}
	}
	if logged, err := p.Logged("started"); err != nil || logged {
		t.Errorf("a process that has ended has logged: %v, %v", logged, err)
	}
	if err := p.Stop(); err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "it.log") {
		t.Errorf("the error does not tell why, and where to look: %v", err)
	}
	content, err := os.ReadFile(filepath.Join(dir, "it.log"))
	if n := strings.Count(string(content), "started"); err != nil || n <= mostRestarts {
		t.Errorf("started %d times, %v", n, err)
	}
}

// TestProcessThatRunsOnce: one that ends is not started again, and the end is an error at once.
func TestProcessThatRunsOnce(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "1GiB")
	dir := t.TempDir()
	p, err := Start(Options{Name: "it", Dir: dir, Program: "sh", Args: []string{"-c", "echo \"limit [$GOMEMLIMIT]\"; exit 3"}, Once: true})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("it has not ended")
	}
	for _, err := range []error{p.Err(), p.Stop()} {
		if err == nil || !strings.Contains(err.Error(), "exit status 3") {
			t.Errorf("the error does not tell why it ended: %v", err)
		}
	}
	content, err := os.ReadFile(filepath.Join(dir, "it.log"))
	if err != nil || string(content) != "limit []\n" {
		t.Errorf("the log is %q (%v), want one start without this process's memory limit", content, err)
	}
	for script, status := range map[string]string{"exit 4": "exit status 4", "exit 0": ""} {
		p, err := Start(Options{Name: "asked", Dir: dir, Program: "sh", Args: []string{"-c", "trap '" + script + "' TERM; echo ready; while :; do sleep 0.05; done"}, Once: true})
		if err != nil {
			t.Fatal(err)
		}
		for logged := false; !logged && err == nil; time.Sleep(10 * time.Millisecond) {
			logged, err = p.Logged("ready")
		}
		if err := errors.Join(err, p.Stop()); err == nil != (status == "") || err != nil && !strings.Contains(err.Error(), status) {
			t.Errorf("%s when it is asked to end: %v", script, err)
		}
	}
}
