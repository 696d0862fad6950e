package sandboxtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestDependencies asserts that a user of this package gets no module beside those of client-go: no
// virtual-kubelet, no OCM, no command line library. Users have to keep each in step with their own.
func TestDependencies(t *testing.T) {
	clientGo := modules(t, "k8s.io/client-go/kubernetes", "k8s.io/client-go/dynamic", "k8s.io/client-go/tools/clientcmd", "k8s.io/client-go/restmapper",
		"k8s.io/client-go/discovery/cached/memory")
	further := slices.DeleteFunc(modules(t, "."), func(m string) bool { return slices.Contains(clientGo, m) })
	if diff := cmp.Diff([]string{modulePath}, further); diff != "" {
		t.Errorf("modules beside those of client-go (-want +got):\n%s", diff)
	}
}

// modules returns the modules of the packages and of all that they import.
func modules(t *testing.T, packages ...string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}"}, packages...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(string(out))
	slices.Sort(all)
	return slices.Compact(all)
}

func TestFindProgramNamesAWrongOne(t *testing.T) {
	t.Setenv("OCM_SANDBOX", "/no/such/ocm-sandbox")
	if _, err := findProgram(t.Context()); err == nil || !strings.Contains(err.Error(), "OCM_SANDBOX=/no/such/ocm-sandbox") {
		t.Errorf("findProgram = %v, want one that names the variable", err)
	}
}

// TestSources checks a module with a vendor directory, or one whose dependencies are not downloaded: go list then names no
// directory.
func TestSources(t *testing.T) {
	for _, test := range []struct{ name, download, want, err string }{
		{"downloaded first", `touch downloaded`, "/cache/sandbox", ""},
		{"that does not help", "true", "", "names no directory"},
		{"no network", `echo "no network" >&2; exit 1`, "", "no network"},
	} {
		bin := t.TempDir()
		script := "#!/bin/sh\ncd " + bin + "\ncase $1 in list) test -e downloaded && echo /cache/sandbox || echo;; mod) " + test.download + ";; esac\n"
		if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", bin+":/usr/bin:/bin")
		got, err := sources(t.Context())
		if got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %q, %v, want %q, %q", test.name, got, err, test.want, test.err)
		}
	}
}

func TestFlags(t *testing.T) {
	for _, test := range []struct {
		name    string
		program program
		want    []string
	}{
		{"as ocm-sandbox has them by default", program{path: "p"}, []string{"--dir=d"}},
		{"of the environment", program{path: "p", programs: "bin", module: "mod"}, []string{"--dir=d", "--programs=bin", "--module=mod"}},
	} {
		if diff := cmp.Diff(test.want, test.program.flags("d")); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestFingerprint(t *testing.T) {
	module := fstest.MapFS{"go.mod": {Data: []byte("module m")}, "cmd/main.go": {Data: []byte("package main")}}
	before, err := fingerprint(module)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, file string
		changes    bool
	}{
		{"a source", "cmd/more.go", true},
		{"a file that may be embedded", "data/pins.txt", true},
		{"a test", "cmd/main_test.go", false},
		{"documentation", "docs/readme.md", false},
		{"what was built", "bin/ocm-sandbox", false},
		{"a running sandbox", ".sandbox/etcd/db", false},
	} {
		module[test.file] = &fstest.MapFile{Data: []byte("x")}
		after, err := fingerprint(module)
		delete(module, test.file)
		if err != nil || (after != before) != test.changes {
			t.Errorf("%s: the fingerprint changes from %s to %s (%v), want a change: %t", test.name, before, after, err, test.changes)
		}
	}
}

func TestPruneKeepsWhatIsUsed(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	for name, age := range map[string]time.Duration{"used": 100 * unusedAfter, "recent": time.Hour, "old": unusedAfter + time.Hour} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if err := prune(dir, filepath.Join(dir, "used"), now); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if diff := cmp.Diff([]string{"recent", "used"}, names); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
