package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"open-cluster-management.io/helloworld-addon/sandbox/statedir"
)

// fakeProgram lets OCM_SANDBOX be a shell script, and temporary files be in a directory of the test.
func fakeProgram(t *testing.T, script string) (temporary string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ocm-sandbox")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	temporary = t.TempDir()
	t.Setenv("OCM_SANDBOX", file)
	t.Setenv("TMPDIR", temporary)
	return temporary
}

// removed ends a script as an interrupted ocm-sandbox up ends.
const removed = `rm -rf "${1#--dir=}"; exit 1`

// record returns the commands of a script that write the record of a sandbox with a supervisor of this PID.
func record(pid int) string {
	return fmt.Sprintf(`echo '{"kind": "open-cluster-management-sandbox", "pid": %d}' >"${1#--dir=}/sandbox.json"; `, pid)
}

func TestStartErrors(t *testing.T) {
	for _, test := range []struct {
		name, script string
		timeLeft     time.Duration
		want         []string
	}{
		{"up fails", "echo 'error: no namespaces' >&2; exit 1", time.Hour, []string{"up --until-eof --clusters=1", "exit status 1: no namespaces"}},
		{"the deadline comes first", "cat; echo 'error: interrupted' >&2; exit 1", deadlineMargin + 100*time.Millisecond,
			[]string{"the deadline of go test comes before the sandbox is ready: etcd, Kubernetes and OCM were being checked or built",
				"/ocm-sandbox setup before, or go test -timeout=30m", "interrupted"}},
		{"the deadline comes while the programs are built", record(0) + "cat; echo 'error: interrupted' >&2; " + removed, deadlineMargin + time.Second,
			[]string{"the deadline of go test comes before the sandbox is ready: etcd, Kubernetes and OCM were being checked or built", "interrupted"}},
		{"the deadline comes while the clusters start", record(1) + "cat; echo 'error: interrupted' >&2; " + removed, deadlineMargin + time.Second,
			[]string{"the deadline of go test comes before the sandbox is ready: its programs are built, and the clusters were starting", "run go test -timeout=10m", "interrupted"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			temporary := fakeProgram(t, test.script)
			ctx, cancel := startContext(withDeadline{t, time.Now().Add(test.timeLeft)})
			defer cancel()
			_, err := start(ctx, newOptions(nil), t.Output())
			if err == nil {
				t.Fatal("a sandbox that does not run has started")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error has no %q: %v", want, err)
				}
			}
			if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

func TestUseErrors(t *testing.T) {
	fakeProgram(t, "echo 'error: no namespaces' >&2; exit 1")
	for _, test := range []struct{ name, dir, want string }{
		{"a relative path", "sandbox", "OCM_SANDBOX_USE=sandbox: give an absolute path"},
		{"up fails", filepath.Join(t.TempDir(), "s"), "no namespaces"},
	} {
		ctx, cancel := startContext(t)
		defer cancel()
		if _, err := use(ctx, test.dir, newOptions(nil), t.Output()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

// TestUseOfAStartingSandbox checks that tests wait until its clusters have joined.
func TestUseOfAStartingSandbox(t *testing.T) {
	dir := t.TempDir()
	started, _ := statedir.ProcessStart(os.Getpid())
	write := func(ready bool) {
		record := statedir.Record{PID: os.Getpid(), StartTime: started, Ready: ready}
		if err := (&statedir.Dir{Path: dir}).Write(record); err != nil {
			t.Error(err)
		}
	}
	s := &Sandbox{dir: dir}
	if ready, err := s.awaitReady(t.Context()); ready || err != nil {
		t.Errorf("without a sandbox: %t, %v", ready, err)
	}
	write(false)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := s.awaitReady(ctx); err == nil || !strings.Contains(err.Error(), "wait for the start of the sandbox in "+dir) {
		t.Errorf("a sandbox that starts: %v, want that the wait ends with its context", err)
	}
	write(true)
	if ready, err := s.awaitReady(t.Context()); !ready || err != nil {
		t.Errorf("a sandbox that is ready: %t, %v", ready, err)
	}
}

// TestOutputOfAStubbornCommand checks that one that ignores the interrupt is killed.
func TestOutputOfAStubbornCommand(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	cmd := exec.Command("sh", "-c", `trap "" INT; while :; do sleep 0.05; done`)
	cmd.WaitDelay = 100 * time.Millisecond
	if _, err := output(ctx, cmd); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "killed") {
		t.Errorf("output = %v, want that it was killed", err)
	}
}

func TestFindNamesTheClusters(t *testing.T) {
	s := &Sandbox{hubs: []*Cluster{{name: "hub"}}, clusters: []*Cluster{{name: "cluster1"}}}
	if found, err := s.find("cluster1"); err != nil || found != s.clusters[0] {
		t.Errorf("find = %v, %v", found, err)
	}
	if _, err := s.find("cluster2"); err == nil || err.Error() != `no cluster "cluster2" in this sandbox: there are hub, cluster1` {
		t.Errorf("find = %v, want one that names the clusters", err)
	}
}

func TestKeepDir(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "kept")
	t.Setenv("OCM_SANDBOX_KEEP", parent)
	t.Run("a/b: c", func(t *testing.T) {
		for range 2 {
			dir, err := keepDir(t)
			if err != nil || filepath.Dir(dir) != parent || !strings.HasPrefix(filepath.Base(dir), "TestKeepDir_a_b__c-") {
				t.Errorf("keepDir = %s, %v", dir, err)
			}
		}
	})
	if entries, err := os.ReadDir(parent); err != nil || len(entries) != 2 {
		t.Errorf("two tests have %v, %v, want a directory each", entries, err)
	}
}
