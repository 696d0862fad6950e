package monitoring

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBuild runs the script build with programs that only log how they are called.
func TestBuild(t *testing.T) {
	source := t.TempDir()
	if err := os.MkdirAll(filepath.Join(source, "cmd/promtool"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, reason, golang, want string }{
		{"no download", "it must not copy the root directory", `[ "$1" != mod ]`, ""},
		{"no source", "it must not copy the root directory", `true`, ""},
		{"Prometheus cannot be built", "make takes promtool for both, so it must not be there", `
			case "$1" in list) echo ` + source + ` ;; build) echo "${6##*/}" >>"$LOG"; exit 1 ;; esac`, "cp\nprometheus\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
			for name, script := range map[string]string{"go": c.golang, "cp": `echo cp >>"$LOG"; mkdir -p "$3/plugins"`} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			command := exec.CommandContext(t.Context(), "./build", t.TempDir())
			command.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "LOG="+log)
			output, err := command.CombinedOutput()
			if err == nil {
				t.Errorf("no error: %s", output)
			}
			called, err := os.ReadFile(log)
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(called)); diff != "" {
				t.Errorf("%s (-want +called):\n%s%s", c.reason, diff, output)
			}
		})
	}
}
