//go:build sandbox

package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// requireRefused checks that up refuses, in one clear message, and leaves
// nothing behind.
func requireRefused(t *testing.T, s *sandbox, want string, args ...string) {
	t.Helper()
	out, err := s.run(t.Context(), append([]string{"up"}, args...)...)
	if err == nil {
		t.Fatalf("up succeeded:\n%s", out)
	}
	if !strings.Contains(out, want) || strings.Contains(out, "goroutine") {
		t.Errorf("up says, without %q:\n%s", want, out)
	}
	if left := s.processes(); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

func TestUpRefusesNoClusters(t *testing.T) {
	requireRefused(t, newSandbox(t), "--clusters=0: a sandbox has 1 to 50", "--clusters=0")
}

func TestUpRefusesAFeatureGateOfNoComponent(t *testing.T) {
	requireRefused(t, newSandbox(t), `invalid argument "work:X=true" for "--feature-gates" flag: no component "work"`, "--feature-gates=work:X=true")
}

func TestUpRefusesAnImageThatIsNotBuilt(t *testing.T) {
	requireRefused(t, newSandbox(t), "build it first", "--image=app=/no/such/directory")
}

func TestUpRefusesSomebodysDirectory(t *testing.T) {
	s := newSandbox(t)
	precious := filepath.Join(s.dir, "precious")
	if err := os.MkdirAll(precious, 0o700); err != nil {
		t.Fatal(err)
	}
	requireRefused(t, s, "is not a sandbox's: set SANDBOX_DIR")
	if _, err := os.Stat(precious); err != nil {
		t.Errorf("the user's file is gone: %v", err)
	}
	if err := os.RemoveAll(s.dir); err != nil {
		t.Fatal(err)
	}
}

func TestUpOnADiskThatCannotBeWritten(t *testing.T) {
	s := newSandbox(t)
	s.dir = "/proc/sandbox" // read-only for everyone
	requireRefused(t, s, "set SANDBOX_DIR to one that can be written")
}

func TestAProgramThatKeepsDyingIsNamed(t *testing.T) {
	s := newSandbox(t)
	broken := filepath.Join(t.TempDir(), "programs")
	if err := os.CopyFS(broken, os.DirFS(os.Getenv("SANDBOX_PROGRAMS"))); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho etcd: no space left on device >&2\nexit 1\n"
	if err := os.Remove(filepath.Join(broken, "etcd")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, "etcd"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SANDBOX_PROGRAMS", broken)
	requireRefused(t, s, "etcd died 4 times", "--clusters=1")
}
