package container

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestContainerStartErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("not a program"), 0o644); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("not a program"), 0o755); err != nil {
		t.Fatal(err)
	}
	img := image(t, map[string]string{"data/file": "x", "taken": "a file"})
	tests := map[string]struct {
		change func(*Spec)
		reason string
		want   string
	}{
		"no such program in the PATH": {
			func(s *Spec) { s.Args = []string{"nothing"} },
			ReasonRun, `exec: "nothing": executable file not found in $PATH`,
		},
		"the PATH is the container's": {
			func(s *Spec) { s.Env = []string{"PATH=/bin"} },
			ReasonRun, "executable file not found in $PATH",
		},
		"no such path": {
			func(s *Spec) { s.Args = []string{"/usr/bin/nothing"} },
			ReasonRun, "/usr/bin/nothing: no such file or directory",
		},
		"a file that may not be executed": {
			func(s *Spec) {
				s.Mounts = []Mount{{Source: file, Target: "/file"}}
				s.Args = []string{"/file"}
			},
			ReasonRun, "permission denied",
		},
		"a file that is no program": {
			func(s *Spec) {
				s.Mounts = []Mount{{Source: script, Target: "/script"}}
				s.Args = []string{"/script"}
			},
			ReasonRun, "exec format error",
		},
		"no such mount source": {
			func(s *Spec) { s.Mounts = []Mount{{Source: "/nowhere", Target: "/data"}} },
			ReasonCreate, "mount /data: source /nowhere does not exist",
		},
		"a file over a directory": {
			func(s *Spec) { s.Mounts = []Mount{{Source: file, Target: "/data"}} },
			ReasonCreate, "mount /data: only one of source and target is a directory",
		},
		"a directory below a file": {
			func(s *Spec) { s.Mounts = []Mount{{Source: t.TempDir(), Target: "/taken/below"}} },
			ReasonCreate, "mount /taken/below: ",
		},
		"a mount point in a read-only mount": {
			func(s *Spec) {
				s.Mounts = []Mount{
					{Source: t.TempDir(), Target: "/outer", ReadOnly: true},
					{Source: t.TempDir(), Target: "/outer/inner"},
				}
			},
			ReasonCreate, "mount /outer/inner: create the mount point: ",
		},
		"no such image": {
			func(s *Spec) { s.Image = "/nowhere" },
			ReasonCreate, "inspect the image directory: stat /nowhere: no such file or directory",
		},
		"an image that is a file": {
			func(s *Spec) { s.Image = file },
			ReasonCreate, "is not a directory",
		},
		"no such root": {
			func(s *Spec) { s.Root = "/nowhere" },
			ReasonCreate, "inspect the root directory: stat /nowhere: no such file or directory",
		},
		"a working directory that is a file": {
			func(s *Spec) { s.Dir = "/data/file" },
			ReasonCreate, "working directory /data/file",
		},
		"an environment too large for the kernel": {
			func(s *Spec) { s.Env = []string{"BIG=" + strings.Repeat("x", 1<<20)} },
			ReasonRun, "argument list too long",
		},
		"a spec that is wrong in itself": {
			func(s *Spec) { s.Args = nil },
			ReasonCreate, "no program to run",
		},
	}
	before := processes(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := spec(t, img, "wait")
			tt.change(&s)
			var out buffer
			process, err := Start(t.Context(), s, nil, &out, &out)
			if err == nil {
				_ = process.Signal(os.Kill)
				_, _ = process.Wait()
				t.Fatal("it started")
			}
			var start *StartError
			if !errors.As(err, &start) || start.Reason != tt.reason || start.ID != "test" {
				t.Errorf("error: got %#v, want a StartError of reason %s", err, tt.reason)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("message: got %q, want one that contains %q", err, tt.want)
			}
		})
	}
	if after := processes(t); after != before {
		t.Errorf("processes: got %d, want %d as before", after, before)
	}
}
