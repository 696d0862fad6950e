package build

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// goThat puts a go command with this script into PATH.
func goThat(t *testing.T, script string) *builder {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	return &builder{Options: Options{Module: t.TempDir()}}
}

// TestDownloadNamesTheCause checks that it is read from where go mod download -json writes it.
func TestDownloadNamesTheCause(t *testing.T) {
	for _, test := range []struct{ name, script, want string }{
		{"an unknown version", `echo '{"Path": "m", "Error": "unknown revision v9.9.9"}'; exit 1`, "download m@v9.9.9: unknown revision v9.9.9"},
		{"another failure", `echo "no network" >&2; exit 1`, "no network"},
		{"no answer", `true`, "read what go mod download prints"},
	} {
		_, err := goThat(t, test.script).download(t.Context(), t.TempDir(), "m@v9.9.9")
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	got, err := goThat(t, `echo '{"Dir": "/cache/m", "GoMod": "/cache/m.mod"}'`).download(t.Context(), t.TempDir(), "m@v1.0.0")
	if want := (downloaded{Dir: "/cache/m", GoMod: "/cache/m.mod"}); got != want || err != nil {
		t.Errorf("download = %v, %v, want %v", got, err, want)
	}
}

// TestPlatform checks that a cross-build's environment does not spoil the programs that all repositories share.
func TestPlatform(t *testing.T) {
	t.Setenv("GOOS", "plan9")
	t.Setenv("GOARCH", "mips")
	b := goThat(t, `echo "$GOOS/$GOARCH"`)
	if got, err := b.goCommand(t.Context(), "build"); got != "linux/"+runtime.GOARCH || err != nil {
		t.Errorf("go builds for %q, %v, want linux/%s", got, err, runtime.GOARCH)
	}
}
