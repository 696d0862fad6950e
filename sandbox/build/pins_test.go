package build

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/sandbox/dirlock"
)

// TestPinsAreThoseOfTheModule checks the copies that the package embeds.
func TestPinsAreThoseOfTheModule(t *testing.T) {
	for file, embedded := range map[string][]byte{"go.mod": pinsMod, "go.sum": pinsSum} {
		want, err := os.ReadFile(filepath.Join("..", "programs", file))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, embedded) {
			t.Errorf("the copy of sandbox/programs/%s is old: run make generate", file)
		}
	}
}

func TestPins(t *testing.T) {
	pins := strings.Join(Pins(), " ")
	for _, want := range []string{"go.etcd.io/etcd/server/v3 v3.", "k8s.io/kubernetes v1.", "open-cluster-management.io/ocm v1."} {
		if !strings.Contains(pins, want) {
			t.Errorf("Pins = %s, without %s", pins, want)
		}
	}
}

func TestDirectory(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/cache")
	for _, test := range []struct{ name, module, programs, want string }{
		{"neither", "", "", "/cache/ocm-sandbox/" + pinsKey(Versions{})},
		{"a module", "programs", "", "bin/sandbox"},
		{"a directory", "", "there", "there"},
		{"both", "programs", "there", "there"},
	} {
		if got, err := directory(test.module, test.programs, Versions{}); got != test.want || err != nil {
			t.Errorf("%s: directory = %q, %v, want %q", test.name, got, err, test.want)
		}
	}
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	if _, err := directory("", "", Versions{}); err == nil || !strings.Contains(err.Error(), "set HOME or XDG_CACHE_HOME") {
		t.Errorf("without a home: %v, want what to set", err)
	}
}

func TestVersionIn(t *testing.T) {
	const other = "example.com/my-addon"
	for _, test := range []struct {
		name string
		info debug.BuildInfo
		want string
	}{
		{"go install of a release", debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "v0.2.0"}}, "v0.2.0"},
		{"go install of a commit", debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "v0.2.1-0.20260102030405-abcdefabcdef"}}, "v0.2.1-0.20260102030405-abcdefabcdef"},
		{"go build in a clone", debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "(devel)"}}, ""},
		{"with changes", debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "v0.2.0+dirty"}}, ""},
		{"go tool in another module", debug.BuildInfo{Main: debug.Module{Path: other, Version: "(devel)"},
			Deps: []*debug.Module{{Path: modulePath, Version: "v0.2.0"}}}, "v0.2.0"},
		{"replaced by a directory", debug.BuildInfo{Main: debug.Module{Path: other, Version: "v1.0.0"},
			Deps: []*debug.Module{{Path: modulePath, Version: "v0.2.0", Replace: &debug.Module{Path: "../sandbox"}}}}, ""},
		{"a test of this module", debug.BuildInfo{Main: debug.Module{Path: modulePath}}, ""},
	} {
		if got := versionIn(&test.info); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestQueryOf(t *testing.T) {
	for version, want := range map[string]string{
		"v0.2.0":                               "v0.2.0",
		"v0.3.0-rc.1":                          "v0.3.0-rc.1",
		"v0.0.0-20260102030405-abcdefabcdef":   "abcdefabcdef",
		"v0.2.1-0.20260102030405-abcdefabcdef": "abcdefabcdef",
	} {
		if got := queryOf(version); got != programsModulePath+"@"+want {
			t.Errorf("queryOf(%q) = %q, want the revision %q", version, got, want)
		}
	}
}

// fakeGo is a go command that lists its builds in the file $BUILDS, fails to build the program $BROKEN and
// knows no other command that prints much.
const fakeGo = `#!/bin/sh
case "$1 $2 $4" in
"list -m {{.Version}}") echo v1.34.4;;
"list -m {{.Dir}}") echo "$OCM";;
build*)
	for last in "$@"; do :; done
	case "$last" in *"/$BROKEN") echo "no such package" >&2; exit 1;; esac
	echo "$last" >>"$BUILDS"
	test -e go.mod && echo program >"$6";;
esac
`

// setup puts fakeGo into PATH and an empty cache in place. The result returns and forgets the packages that
// were built.
func setup(t *testing.T) (builds func() []string) {
	t.Helper()
	bin, cache := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(fakeGo), 0o700); err != nil {
		t.Fatal(err)
	}
	ocm := t.TempDir()
	for _, source := range manifestSources {
		if err := os.MkdirAll(filepath.Join(ocm, source), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(ocm, source, "a.yaml"), "a")
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("OCM", ocm)
	list := filepath.Join(cache, "builds")
	t.Setenv("BUILDS", list)
	return func() []string {
		t.Helper()
		content, err := os.ReadFile(list)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		_ = os.Remove(list)
		return strings.Fields(string(content))
	}
}

// TestInterruptedSetup checks that the next one builds what is missing, and that it then needs no Go.
func TestInterruptedSetup(t *testing.T) {
	builds := setup(t)
	t.Setenv("BROKEN", "kube-scheduler")
	var out strings.Builder
	options := Options{Progress: &out}
	if _, err := Programs(t.Context(), options); err == nil || !strings.Contains(err.Error(), "build kube-scheduler: go build") {
		t.Fatalf("Programs = %v, want that kube-scheduler cannot be built", err)
	}
	first := builds()
	t.Setenv("BROKEN", "none")
	dir, err := Programs(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, p := range programs {
		if !p.fleet {
			want = append(want, p.pkg)
		}
	}
	if diff := cmp.Diff(want, append(first, builds()...)); diff != "" {
		t.Errorf("each program is built once:\n%s", diff)
	}
	t.Setenv("PATH", "")
	if again, err := Programs(t.Context(), options); again != dir || err != nil {
		t.Errorf("the third call = %q, %v, want %q without Go", again, err, dir)
	}
	write(t, filepath.Join(dir, ".etcd.stamp"), "other pins")
	if _, err := Programs(t.Context(), options); err == nil || !strings.Contains(err.Error(), "install Go") {
		t.Errorf("Programs without Go = %v, want that Go is needed", err)
	}
	if _, err := Programs(t.Context(), Options{Fleet: true, Progress: &out}); err == nil {
		t.Error("the programs of a fleet are there, but nothing has built them")
	}
}

// TestFleetOfLocalFiles checks the message when the source of the fleet's program is unknown.
func TestFleetOfLocalFiles(t *testing.T) {
	builds := setup(t)
	for _, options := range []Options{{Only: []string{FleetProgram}}, {Fleet: true}} {
		options.Progress = &strings.Builder{}
		if _, err := Programs(t.Context(), options); !errors.Is(err, errNoVersion) {
			t.Errorf("Programs = %v, want %v", err, errNoVersion)
		}
		if built := builds(); len(built) > 0 {
			t.Errorf("it built %v before", built)
		}
	}
}

// TestProgramsAsTheyAre checks that a directory without a module is not written to.
func TestProgramsAsTheyAre(t *testing.T) {
	builds := setup(t)
	dir := t.TempDir()
	options := Options{Out: dir, Progress: &strings.Builder{}}
	if _, err := Programs(t.Context(), options); err == nil || !strings.Contains(err.Error(), "lacks etcd, etcdutl, ") {
		t.Errorf("Programs = %v, want what is missing", err)
	}
	for _, p := range programs {
		if !p.fleet {
			write(t, filepath.Join(dir, p.name), "program")
		}
	}
	write(t, filepath.Join(dir, Manifests), "")
	if got, err := Programs(t.Context(), options); got != dir || err != nil {
		t.Errorf("Programs = %q, %v, want %q", got, err, dir)
	}
	if built := builds(); len(built) > 0 {
		t.Errorf("it built %v", built)
	}
}

func TestProgramsWaitsForAnotherBuild(t *testing.T) {
	var out strings.Builder
	b := &builder{Options: Options{Out: t.TempDir(), Progress: &out}, embedded: true}
	unlock, err := dirlock.Lock(t.Context(), b.Out, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := b.complete(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("complete = %v, want that the wait ends with its context", err)
	}
	if want := "waiting for another process that builds the programs in " + b.Out; !strings.Contains(out.String(), want) {
		t.Errorf("the user reads %q, want %q", out.String(), want)
	}
}
