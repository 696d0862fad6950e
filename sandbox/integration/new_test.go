//go:build sandbox

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNewAddon checks the add-on of the command new as its author would: in an empty directory, by its own test.
func TestNewAddon(t *testing.T) {
	sources, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	in := func(dir, name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		// the same flags as for the programs of the repository, or all is compiled twice
		cmd.Env = append(os.Environ(), "OCM_SANDBOX="+command, "CGO_ENABLED=0", "GOFLAGS=-trimpath")
		out, err := cmd.CombinedOutput()
		t.Logf("%s %q\n%s", name, args, out)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	in(parent, command, "new", "node-counter", "--replace="+sources)
	addon := filepath.Join(parent, "node-counter")
	in(addon, "go", "vet", "./...")
	in(addon, "go", "test", "-v", "./...")
	// go test does not compare the program of the image, which the test does not call
	const cached = "(cached)"
	if out := in(addon, "go", "test", "-v", "./..."); !strings.Contains(out, cached) {
		t.Errorf("a second test has no cached result, which the one after a change is compared with")
	}
	agent := filepath.Join(addon, "agent.go")
	content, err := os.ReadFile(agent)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(agent, append(content, "\n// changed\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := in(addon, "go", "test", "-v", "./..."); strings.Contains(out, cached) {
		t.Errorf("after a change of the agent the result is that of before")
	}
}
