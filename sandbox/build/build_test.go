package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestLinkFlagsStampTheVersion(t *testing.T) {
	got := linkFlags("v1.34.4")
	for _, want := range []string{"gitVersion=v1.34.4", "gitMajor=1", "gitMinor=34"} {
		if !strings.Contains(got, "-X k8s.io/component-base/version."+want) {
			t.Errorf("linkFlags = %q, without %s", got, want)
		}
	}
}

func TestAnUnknownProgramIsNamed(t *testing.T) {
	_, err := Programs(t.Context(), Options{Module: t.TempDir(), Out: t.TempDir(), Only: []string{"kubectl", "kubeclt"}})
	if err == nil || !strings.Contains(err.Error(), "kubeclt") || strings.Contains(err.Error(), "kubectl") {
		t.Errorf("Programs = %v, want one that names kubeclt alone", err)
	}
}

func TestCurrent(t *testing.T) {
	b := &builder{Options: Options{Out: t.TempDir()}}
	if b.current("etcd", "a") {
		t.Error("a program that was never built is current")
	}
	write(t, b.stamp("etcd"), "a")
	if b.current("etcd", "a") {
		t.Error("a stamp without its program is current")
	}
	write(t, b.Out+"/etcd", "program")
	if !b.current("etcd", "a") {
		t.Error("a program with its stamp is not current")
	}
	if b.current("etcd", "b") {
		t.Error("a program built from something else is current")
	}
}

// TestFingerprintOfTheFleetsProgram checks that its own sources count, and those alone.
func TestFingerprintOfTheFleetsProgram(t *testing.T) {
	module := t.TempDir()
	b := &builder{Options: Options{Module: module}, fingerprint: "versions"}
	ours := program{name: FleetProgram, pkg: "./fleet", fleet: true}
	if _, err := b.fingerprintOf(ours); err == nil {
		t.Error("a module without the program's sources has a fingerprint of them")
	}
	for _, dir := range []string{"memapi", "testdata"} {
		if err := os.MkdirAll(filepath.Join(module, "fleet", dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]string{}
	for _, test := range []struct {
		name, file, content string
		changes             bool
	}{
		{"the program", "main.go", "package main", true},
		{"a package of it", "memapi/api.go", "package memapi", true},
		{"a changed file", "main.go", "package main // changed", true},
		{"the same content under another name", "other.go", "package main // changed", true},
		{"a test", "main_test.go", "package main", false},
		{"a file that a package may embed", "memapi/kinds.yaml", "kinds", true},
		{"a test's data", "testdata/fleet.json", "{}", false},
	} {
		before, err := b.fingerprintOf(ours)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(module, "fleet", test.file), test.content)
		after, err := b.fingerprintOf(ours)
		if err != nil || (before != after) != test.changes {
			t.Errorf("%s: the fingerprint changes = %v, %v, want %v", test.name, before != after, err, test.changes)
		}
		if other := seen[after]; test.changes && other != "" {
			t.Errorf("%s has the fingerprint of: %s", test.name, other)
		}
		seen[after] = test.name
	}
	if other, err := b.fingerprintOf(program{name: "etcd"}); other != "versions" || err != nil {
		t.Errorf("the fingerprint of another program is %q, %v, want that of the versions alone", other, err)
	}
}

func TestWanted(t *testing.T) {
	etcd, ours := program{name: "etcd"}, program{name: FleetProgram, fleet: true}
	for _, test := range []struct {
		name            string
		options         Options
		etcd, simulator bool
	}{
		{"a sandbox", Options{}, true, false},
		{"a sandbox with a fleet", Options{Fleet: true}, true, true},
		{"build etcd", Options{Only: []string{"etcd"}}, true, false},
		{"build ocm-fleet", Options{Only: []string{FleetProgram}}, false, true},
	} {
		b := &builder{Options: test.options}
		if b.wanted(etcd) != test.etcd || b.wanted(ours) != test.simulator {
			t.Errorf("%s: wanted = %v, %v, want %v, %v", test.name, b.wanted(etcd), b.wanted(ours), test.etcd, test.simulator)
		}
	}
}

func TestRelativePathsAreOfTheCaller(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	b := &builder{Options: Options{Module: "programs", Out: "bin"}}
	if err := b.resolve(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{filepath.Join(dir, "programs"), filepath.Join(dir, "bin")}, []string{b.Module, b.Out}); diff != "" {
		t.Error(diff)
	}
}

func TestCopyYAMLLeavesGoFilesOut(t *testing.T) {
	to := t.TempDir()
	from := fstest.MapFS{
		"hub/crds/a.yaml": {Data: []byte("a")},
		"hub/b.yaml":      {Data: []byte("b")},
		"config.go":       {Data: []byte("package manifests")},
	}
	if err := copyYAML(to, from); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := filepath.WalkDir(to, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			got = append(got, strings.TrimPrefix(path, to))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/hub/b.yaml", "/hub/crds/a.yaml"}, got); diff != "" {
		t.Error(diff)
	}
}
