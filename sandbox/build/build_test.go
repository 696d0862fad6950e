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
	err := Programs(t.Context(), Options{Module: t.TempDir(), Out: t.TempDir(), Only: []string{"kubectl", "kubeclt"}})
	if err == nil || !strings.Contains(err.Error(), "kubeclt") || strings.Contains(err.Error(), "kubectl") {
		t.Errorf("Programs = %v, want one that names kubeclt alone", err)
	}
}

func TestCurrent(t *testing.T) {
	b := &builder{Options: Options{Out: t.TempDir()}, fingerprint: "a"}
	if b.current("etcd") {
		t.Error("a program that was never built is current")
	}
	write(t, b.stamp("etcd"), "a")
	if b.current("etcd") {
		t.Error("a stamp without its program is current")
	}
	write(t, b.Out+"/etcd", "program")
	if !b.current("etcd") {
		t.Error("a program with its stamp is not current")
	}
	b.fingerprint = "b"
	if b.current("etcd") {
		t.Error("a program built from something else is current")
	}
}

func TestRelativePathsAreOfTheCaller(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	b := &builder{Options: Options{Module: "programs", Out: "bin"}}
	if err := b.absolute(); err != nil {
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
