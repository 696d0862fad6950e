package goimage

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/sandbox/images"
)

// module writes a Go module with these files and makes it the working directory.
func module(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module example.com/app\n\ngo 1.26\n"
	for name, content := range files {
		if err := writeFile(filepath.Join(dir, name), []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

const program = `package main

import "fmt"

var version = "none"

func main() { fmt.Println("version", version) }
`

func TestBuild(t *testing.T) {
	module(t, map[string]string{"cmd/agent/main.go": program})
	store := images.In(t.TempDir())
	options := Options{Image: "example.com/app:v1", Package: "./cmd/agent"}
	for _, test := range []struct {
		flags []string
		want  string
	}{{nil, "version none\n"}, {[]string{"-ldflags=-X=main.version=2"}, "version 2\n"}} {
		options.Flags = test.flags
		if err := Build(t.Context(), store, options); err != nil {
			t.Fatal(err)
		}
		built, ok, err := store.Resolve("example.com/app:v1")
		if !ok || err != nil {
			t.Fatalf("%t, %v", ok, err)
		}
		if diff := cmp.Diff(images.Config{Entrypoint: []string{"/bin/agent"}, User: "65532"}, built.Config); diff != "" {
			t.Error(diff)
		}
		for _, name := range []string{"bin/agent", "agent"} {
			out, err := exec.Command(filepath.Join(built.Dir, name)).CombinedOutput()
			if err != nil || string(out) != test.want {
				t.Errorf("%s: %q, %v, want %q", name, out, err, test.want)
			}
		}
		for name, want := range map[string]string{"etc/passwd": "nonroot:x:65532:65532:nonroot:/home/nonroot", "etc/group": "nonroot:x:65532:"} {
			if content, err := os.ReadFile(filepath.Join(built.Dir, name)); err != nil || !strings.Contains(string(content), want) {
				t.Errorf("%s: %q, %v", name, content, err)
			}
		}
		if info, err := os.Stat(filepath.Join(built.Dir, "home/nonroot")); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("home: %v, %v", info, err)
		}
	}
}

// TestLayOutWithAStrictUmask checks that the image's user can read the image of a user whose files nobody else can.
func TestLayOutWithAStrictUmask(t *testing.T) {
	root := t.TempDir()
	before := syscall.Umask(0o077)
	err := layOut(root)
	syscall.Umask(before)
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if name, _ := filepath.Rel(root, path); err == nil && name != "home/nonroot" && info.Mode().Perm()&0o044 != 0o044 {
			t.Errorf("%s has the mode %v", name, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestBuildFails(t *testing.T) {
	module(t, map[string]string{
		"many/one/main.go": program, "many/two/main.go": program, "cmd/broken/main.go": "package main\n\nfunc main() { x }\n", "lib/lib.go": "package lib\n",
	})
	for _, test := range []struct{ name, pkg, want, log string }{
		{"two programs", "./many/...", "has 2 programs", ""},
		{"no package", "./cmd/none", "go build ./cmd/none: exit status 1", "directory not found"},
		{"it does not compile", "./cmd/broken", "go build ./cmd/broken: exit status 1", "undefined: x"},
		{"no program", "./lib", "exit status 1", "no main packages"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			dir := t.TempDir()
			err := Build(t.Context(), images.In(dir), Options{Image: "app", Package: test.pkg, Log: &log})
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(log.String(), test.log) {
				t.Errorf("error %v, log %q, want %q, %q", err, log.String(), test.want, test.log)
			}
			if left, err := filepath.Glob(filepath.Join(dir, "images", "*")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
