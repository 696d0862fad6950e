//go:build sandbox

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestNewAddon checks the add-on of the command new as its author would: in an empty directory, by its own test.
func TestNewAddon(t *testing.T) {
	sources, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	in := func(dir, name string, args ...string) {
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
	}
	in(parent, command, "new", "node-counter", "--replace="+sources)
	addon := filepath.Join(parent, "node-counter")
	in(addon, "go", "vet", "./...")
	in(addon, "go", "test", "-count=1", "-v", "./...")
}
