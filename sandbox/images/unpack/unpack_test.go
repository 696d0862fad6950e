package unpack

import (
	"archive/tar"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"open-cluster-management.io/helloworld-addon/sandbox/images"
)

// ample are limits whatever space the machine's disk has left.
var ample = Limits{Bytes: DefaultLimits.Bytes, Files: DefaultLimits.Files}

// entry is an entry of a layer: a directory if the name ends in a slash, otherwise a file,
// unless the kind is another one.
type entry struct {
	name, content string
	kind          byte
	link          string
	mode          int64
	size          int64 // if it is not that of the content
}

// tarOf returns an archive with the entries.
func tarOf(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Typeflag: e.kind, Linkname: e.link, Mode: e.mode, Size: int64(len(e.content)), Uid: os.Getuid(), Gid: os.Getgid()}
		if e.kind == 0 {
			header.Typeflag = tar.TypeReg
			if e.name != "" && e.name[len(e.name)-1] == '/' {
				header.Typeflag = tar.TypeDir
			}
		}
		if header.Mode == 0 {
			header.Mode = 0o755
		}
		if e.size != 0 {
			header.Size = e.size
		}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.content); err != nil {
			t.Fatal(err)
		}
	}
	_ = w.Close() // an error of an entry that is too short is wanted
	return out.Bytes()
}

// layerOf returns a layer that is such an archive.
func layerOf(t *testing.T, content []byte) v1.Layer {
	t.Helper()
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil })
	if err != nil {
		t.Fatal(err)
	}
	return layer
}

// imageOf returns an image for this machine.
func imageOf(t *testing.T, config v1.Config, layers ...[]byte) v1.Image {
	t.Helper()
	made := empty.Image
	for _, content := range layers {
		var err error
		if made, err = mutate.AppendLayers(made, layerOf(t, content)); err != nil {
			t.Fatal(err)
		}
	}
	file, err := made.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	file.OS, file.Architecture, file.Config = "linux", filepath.Base(platform()), config
	if made, err = mutate.ConfigFile(made, file); err != nil {
		t.Fatal(err)
	}
	return made
}

// listed returns the content of every file, the target of every link and the mode of every
// directory below a directory.
func listed(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		if err != nil || at == dir {
			return err
		}
		name, err := filepath.Rel(dir, at)
		if err != nil {
			return err
		}
		switch info, err := e.Info(); {
		case err != nil:
			return err
		case e.Type() == fs.ModeSymlink:
			target, err := os.Readlink(at)
			got[name] = "-> " + target
			return err
		case e.IsDir():
			got[name+"/"] = info.Mode().String()
		default:
			content, err := os.ReadFile(at)
			got[name] = string(content)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// newStore returns a store and a function that requires that a failed load left nothing.
func newStore(t *testing.T) (images.Store, func()) {
	t.Helper()
	dir := t.TempDir()
	return images.In(dir), func() {
		t.Helper()
		if left, err := filepath.Glob(filepath.Join(dir, "images", "*")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
		if all, err := images.In(dir).All(); err != nil || len(all) > 0 {
			t.Errorf("mapped: %v, %v", all, err)
		}
	}
}

func TestApply(t *testing.T) {
	const dir = "drwxr-xr-x"
	for _, test := range []struct {
		name   string
		layers [][]entry
		want   map[string]string
	}{
		{"later layers replace files", [][]entry{{{name: "a", content: "1"}, {name: "b", content: "1"}}, {{name: "a", content: "2"}}},
			map[string]string{"a": "2", "b": "1"}},
		{"absolute names and those that begin with a dot", [][]entry{{{name: "/etc/a", content: "1"}, {name: "./etc/b", content: "2"}, {name: "./"}}},
			map[string]string{"etc/": dir, "etc/a": "1", "etc/b": "2"}},
		{"modes of directories, also of those that forbid to write", [][]entry{{{name: "a/", mode: 0o511}, {name: "a/b", content: "1"}, {name: "tmp/", mode: 0o1777}}},
			map[string]string{"a/": "drwx--x--x", "a/b": "1", "tmp/": "dtrwxrwxrwx"}},
		{"a file in place of a directory", [][]entry{{{name: "a/b", content: "1"}}, {{name: "a", content: "2"}}}, map[string]string{"a": "2"}},
		{"a directory in place of a link", [][]entry{{{name: "a", kind: tar.TypeSymlink, link: "b"}, {name: "b/c", content: "1"}}, {{name: "a/"}, {name: "a/d", content: "2"}}},
			map[string]string{"a/": dir, "a/d": "2", "b/": dir, "b/c": "1"}},
		{"below an absolute link, which is one of the image", [][]entry{{{name: "run/"}, {name: "var/run", kind: tar.TypeSymlink, link: "/run"}}, {{name: "var/run/a", content: "1"}}},
			map[string]string{"run/": dir, "run/a": "1", "var/": dir, "var/run": "-> /run"}},
		{"below a link that leads nowhere", [][]entry{{{name: "a", kind: tar.TypeSymlink, link: "b/c"}, {name: "a/d", content: "1"}}},
			map[string]string{"a": "-> b/c", "b/": dir, "b/c/": dir, "b/c/d": "1"}},
		{"hard links", [][]entry{{{name: "a", content: "1"}, {name: "b/c", kind: tar.TypeLink, link: "a"}, {name: "a", kind: tar.TypeLink, link: "a"}}, {{name: "a", content: "2"}}},
			map[string]string{"a": "2", "b/": dir, "b/c": "1"}},
		{"a whiteout", [][]entry{{{name: "a/b", content: "1"}, {name: "a/c/d", content: "1"}, {name: "e", content: "1"}}, {{name: "a/.wh.c"}, {name: ".wh.e"}, {name: "none/.wh.a"}}},
			map[string]string{"a/": dir, "a/b": "1"}},
		{"a whiteout hides earlier layers alone", [][]entry{{{name: "a/old", content: "1"}}, {{name: "a/new", content: "2"}, {name: ".wh.a"}}},
			map[string]string{"a/": dir, "a/new": "2"}},
		{"an opaque directory", [][]entry{{{name: "a/b", content: "1"}, {name: "a/c/d", content: "1"}}, {{name: "a/c/e", content: "2"}, {name: "a/.wh..wh..opq"}, {name: "a/f", content: "2"}}},
			map[string]string{"a/": dir, "a/c/": dir, "a/c/e": "2", "a/f": "2"}},
		{"files of AUFS", [][]entry{{{name: ".wh..wh.plnk/"}, {name: ".wh..wh.aufs"}}}, map[string]string{}},
		{"no devices and FIFOs", [][]entry{{{name: "dev/null", kind: tar.TypeChar}, {name: "dev/sda", kind: tar.TypeBlock}, {name: "fifo", kind: tar.TypeFifo}}}, map[string]string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			tree, err := newTree(dir, ample)
			if err != nil {
				t.Fatal(err)
			}
			defer tree.root.Close()
			for _, layer := range test.layers {
				if err := tree.apply(t.Context(), bytes.NewReader(tarOf(t, layer...))); err != nil {
					t.Fatal(err)
				}
			}
			if err := tree.finish(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, listed(t, dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNoSetuid(t *testing.T) {
	dir := t.TempDir()
	tree, err := newTree(dir, ample)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.root.Close()
	if err := tree.apply(t.Context(), bytes.NewReader(tarOf(t, entry{name: "a", mode: 0o6755}, entry{name: "d/", mode: 0o2755}))); err != nil {
		t.Fatal(err)
	}
	if err := tree.finish(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "d"} {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil || info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 || info.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}
