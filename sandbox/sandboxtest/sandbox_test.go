package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
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

// record returns the commands of a script that write the record of a sandbox with a supervisor of this PID,
// and its hub's kubeconfig.
func record(pid int) string {
	return fmt.Sprintf(`echo '{"kind": "open-cluster-management-sandbox", "pid": %d, "clusters": ["hub"], "hubs": 1}' >"${1#--dir=}/sandbox.json"
		echo '{"clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}], "contexts": [{"name": "a", "context": {"cluster": "a"}}], "current-context": "a"}' >"${1#--dir=}/hub.kubeconfig"
		`, pid)
}

// comes tells a test that it is time for the deadline.
const comes = `touch "$0.comes"; `

func TestStartErrors(t *testing.T) {
	const interrupted = comes + "cat; echo 'error: interrupted' >&2; "
	for _, test := range []struct {
		name, script string
		want         []string
	}{
		{"up fails", "echo 'error: no namespaces' >&2; exit 1", []string{"up --until-eof --clusters=1", "exit status 1: no namespaces"}},
		{"the deadline comes first", interrupted + "exit 1",
			[]string{"the deadline of go test comes before the sandbox is ready: etcd, Kubernetes and OCM were being checked or built",
				"/ocm-sandbox setup before, or go test -timeout=30m", "interrupted"}},
		{"the deadline comes while the programs are built", record(0) + interrupted + removed,
			[]string{"the deadline of go test comes before the sandbox is ready: etcd, Kubernetes and OCM were being checked or built", "interrupted"}},
		{"the deadline comes while the clusters start", record(1) + interrupted + removed,
			[]string{"the deadline of go test comes before the sandbox is ready: its programs are built; the clusters were starting", "run go test -timeout=10m", "interrupted"}},
		{"the deadline comes while images are made", `case "$*" in *" up "*) ;; *) ` + comes + "exec sleep 60 ;; esac\n" + record(1) + "exec >&-; cat >/dev/null; " + removed,
			[]string{"the deadline of go test comes before the sandbox is ready: its programs are built;", "or their images were being made", "image app: "}},
	} {
		t.Run(test.name, func(t *testing.T) {
			temporary := fakeProgram(t, test.script)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			go func() {
				for ctx.Err() == nil {
					if _, err := os.Stat(os.Getenv("OCM_SANDBOX") + ".comes"); err == nil {
						cancel(errDeadline)
					}
					time.Sleep(10 * time.Millisecond)
				}
			}()
			_, err := start(ctx, newOptions([]Option{Image("app", Dir("."))}), t.Output())
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

// watched is a context that counts what waits for its end.
type watched struct {
	context.Context
	done     chan struct{}
	watchers *atomic.Int32
}

func (w watched) Done() <-chan struct{} { return w.done }

// AfterFunc is called by package context.
func (w watched) AfterFunc(func()) func() bool {
	w.watchers.Add(1)
	return func() bool { w.watchers.Add(-1); return true }
}

// TestStartEndsWithItsContext checks that nothing watches the context of a start that has ended.
func TestStartEndsWithItsContext(t *testing.T) {
	fakeProgram(t, record(1)+"exec >&-; cat >/dev/null")
	ctx := watched{context.WithoutCancel(t.Context()), make(chan struct{}), &atomic.Int32{}}
	s, err := start(ctx, newOptions(nil), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.end() })
	if n := ctx.watchers.Load(); n != 0 {
		t.Errorf("%d functions watch the context", n)
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

// TestUseAtTheDeadline checks that a test that waits for the sandbox of another one tells what to do.
func TestUseAtTheDeadline(t *testing.T) {
	fakeProgram(t, "exit 1")
	dir := t.TempDir()
	started, _ := statedir.ProcessStart(os.Getpid())
	if err := (&statedir.Dir{Path: dir}).Write(statedir.Record{PID: os.Getpid(), StartTime: started}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errDeadline)
	defer cancel()
	if _, err := use(ctx, dir, newOptions(nil), t.Output()); err == nil || !strings.Contains(err.Error(), "run go test -timeout=10m: wait for the start of the sandbox in") {
		t.Errorf("use = %v, want the advice for a start at the deadline", err)
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
