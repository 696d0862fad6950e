//go:build sandbox

package integration

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// command is the built ocm-sandbox.
var command string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	for _, name := range []string{"SANDBOX_PROGRAMS", "SANDBOX_MODULE"} {
		if os.Getenv(name) == "" {
			fmt.Fprintln(os.Stderr, name+" is not set: run these tests with make test-sandbox")
			return 1
		}
	}
	dir, err := os.MkdirTemp("", "ocm-sandbox-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	command = filepath.Join(dir, "ocm-sandbox")
	if out, err := exec.Command("go", "build", "-trimpath", "-o", command, "../cmd/ocm-sandbox").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build ocm-sandbox: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// sandbox is a directory for one.
type sandbox struct {
	t   *testing.T
	dir string
}

// newSandbox returns a sandbox that is ended with the test.
func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	// not t.TempDir: on a failure its removal would race with what still runs
	parent, err := os.MkdirTemp("", "ocm-sandbox-test")
	if err != nil {
		t.Fatal(err)
	}
	s := &sandbox{t: t, dir: filepath.Join(parent, "sandbox")}
	t.Cleanup(func() {
		if t.Failed() {
			if log, err := os.ReadFile(filepath.Join(s.dir, "sandbox.log")); err == nil {
				t.Logf("the supervisor's log:\n%s", log)
			}
		}
		if out, err := s.run(context.Background(), "down"); err != nil {
			t.Errorf("down: %v\n%s", err, out)
		}
		_ = os.RemoveAll(parent)
	})
	return s
}

func (s *sandbox) command(ctx context.Context, args ...string) *exec.Cmd {
	all := append([]string{"--dir=" + s.dir, "--programs=" + os.Getenv("SANDBOX_PROGRAMS"), "--module=" + os.Getenv("SANDBOX_MODULE")}, args...)
	cmd := exec.CommandContext(ctx, command, all...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd
}

// run runs the command and returns all that it printed.
func (s *sandbox) run(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	cmd := s.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// up starts the sandbox and fails the test when that fails.
func (s *sandbox) up(args ...string) string {
	s.t.Helper()
	started := time.Now()
	out, err := s.run(s.t.Context(), append([]string{"up"}, args...)...)
	if err != nil {
		s.logEnds()
		s.t.Fatalf("up: %v\n%s", err, out)
	}
	s.t.Logf("up took %s\n%s", time.Since(started).Round(100*time.Millisecond), out)
	return out
}

// logEnds logs the ends of the logs that tell why a cluster does not join, after a start that failed.
func (s *sandbox) logEnds() {
	s.t.Helper()
	for _, pattern := range []string{"*/logs/registration-*.log", "hub*/logs/kube-controller-manager.log"} {
		files, _ := filepath.Glob(filepath.Join(s.dir+".failed-logs", pattern))
		for _, file := range files {
			content, _ := os.ReadFile(file)
			s.t.Logf("the end of %s:\n%s", file, content[max(0, len(content)-4000):])
		}
	}
}

// kubectl runs the sandbox's own kubectl on one of its clusters.
func (s *sandbox) kubectl(cluster string, args ...string) (string, error) {
	args = append([]string{"--kubeconfig=" + filepath.Join(s.dir, cluster+".kubeconfig"), "--request-timeout=20s"}, args...)
	out, err := exec.Command(filepath.Join(os.Getenv("SANDBOX_PROGRAMS"), "kubectl"), args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// must runs kubectl and fails the test when that fails.
func (s *sandbox) must(cluster string, args ...string) string {
	s.t.Helper()
	out, err := s.kubectl(cluster, args...)
	if err != nil {
		s.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// apply applies a manifest.
func (s *sandbox) apply(cluster, manifest string) {
	s.t.Helper()
	s.must(cluster, "apply", "-f", s.file(manifest))
}

// file writes the content to a file of the test, and returns its path.
func (s *sandbox) file(content string) string {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "file.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return file
}

// build builds the program of a package to a file.
func build(t *testing.T, file, program string) {
	t.Helper()
	if out, err := exec.Command("go", "build", "-trimpath", "-o", file, program).CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", program, err, out)
	}
}

// eventually polls until the check passes; the deadline is generous because the
// machine may be busy with something else.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}
