package unpack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"open-cluster-management.io/helloworld-addon/sandbox/images"
)

// fullConfig is a configuration, and loadedConfig what the store keeps of it.
var (
	fullConfig = v1.Config{Entrypoint: []string{"/app"}, Cmd: []string{"run"}, Env: []string{"A=1", "invalid", "=x"},
		WorkingDir: "work", User: "app:video", ExposedPorts: map[string]struct{}{"80/tcp": {}}}
	loadedConfig = images.Config{Entrypoint: []string{"/app"}, Cmd: []string{"run"}, Env: []string{"A=1"}, WorkingDir: "/work", User: "app:video"}
)

// dockerArchive writes an archive as docker save does.
func dockerArchive(t *testing.T, saved map[string]v1.Image) string {
	t.Helper()
	tags := map[name.Tag]v1.Image{}
	for n, i := range saved {
		tag, err := name.NewTag(n)
		if err != nil {
			t.Fatal(err)
		}
		tags[tag] = i
	}
	file := filepath.Join(t.TempDir(), "image.tar")
	if err := tarball.MultiWriteToFile(file, tags); err != nil {
		t.Fatal(err)
	}
	return file
}

// layoutOf writes an OCI layout whose index has the images.
func layoutOf(t *testing.T, index ...mutate.IndexAddendum) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "layout")
	if _, err := layout.Write(dir, mutate.AppendManifests(empty.Index, index...)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func described(i mutate.Appendable, architecture string, annotations map[string]string) mutate.IndexAddendum {
	added := mutate.IndexAddendum{Add: i, Descriptor: v1.Descriptor{Annotations: annotations}}
	if architecture != "" {
		added.Platform = &v1.Platform{OS: "linux", Architecture: architecture}
	}
	return added
}

func writeFile(t *testing.T, content []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "archive")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// tarDir returns an archive of a directory.
func tarDir(t *testing.T, dir string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := errors.Join(w.AddFS(os.DirFS(dir)), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func compressed(t *testing.T, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func readAll(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestLoad(t *testing.T) {
	one := imageOf(t, fullConfig, tarOf(t, entry{name: "bin/app", content: "1"}, entry{name: "old"}), tarOf(t, entry{name: ".wh.old"}))
	here := filepath.Base(platform())
	docker := dockerArchive(t, map[string]v1.Image{"example.com/app:v1": one, "app:latest": one})
	extracted := t.TempDir()
	if err := unpackTo(t, extracted, readAll(t, docker)); err != nil {
		t.Fatal(err)
	}
	const full, tag = "io.containerd.image.name", "org.opencontainers.image.ref.name"
	byDocker := layoutOf(t, described(mutate.AppendManifests(empty.Index,
		described(imageOf(t, fullConfig), "other", nil), described(one, here, nil), described(imageOf(t, fullConfig), "unknown", nil),
	), "", map[string]string{full: "docker.io/library/app:v1", tag: "v1"}))
	for _, test := range []struct {
		name, file, given string
		want              []string
	}{
		{"docker save", docker, "", []string{"app:latest", "example.com/app:v1"}},
		{"docker save, with gzip", writeFile(t, compressed(t, readAll(t, docker))), "", []string{"app:latest", "example.com/app:v1"}},
		{"docker save, extracted", extracted, "", []string{"app:latest", "example.com/app:v1"}},
		{"docker save under another name", dockerArchive(t, map[string]v1.Image{"app:v1": one}), "app:v2", []string{"app:v2"}},
		{"a layout's directory", layoutOf(t, described(one, "", map[string]string{tag: "example.com/app:v1"})), "", []string{"example.com/app:v1"}},
		{"a layout's archive", writeFile(t, tarDir(t, layoutOf(t, described(one, here, map[string]string{tag: "app:v1"})))), "", []string{"app:v1"}},
		{"a layout without a name", layoutOf(t, described(one, "", map[string]string{tag: "v1"})), "app:v1", []string{"app:v1"}},
		{"the image for this machine, in an index of Docker", byDocker, "", []string{"docker.io/library/app:v1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			store, _ := newStore(t)
			names, err := Load(t.Context(), store, test.file, test.given, ample)
			if diff := cmp.Diff(test.want, names); diff != "" || err != nil {
				t.Fatalf("%v\n%s", err, diff)
			}
			for _, n := range test.want {
				loaded, ok, err := store.Resolve(n)
				if !ok || err != nil {
					t.Fatalf("%s: %t, %v", n, ok, err)
				}
				if diff := cmp.Diff(loadedConfig, loaded.Config); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff(map[string]string{"bin/": "drwxr-xr-x", "bin/app": "1"}, listed(t, loaded.Dir)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func unpackTo(t *testing.T, dir string, content []byte) error {
	tree, err := newTree(dir, ample)
	if err != nil {
		return err
	}
	return errors.Join(tree.apply(t.Context(), bytes.NewReader(content)), tree.root.Close())
}

// TestHostileLayers checks that a layer cannot write out of the image's directory, or fill the
// disk, and that its load leaves nothing.
func TestHostileLayers(t *testing.T) {
	outside := t.TempDir()
	link := func(name, target string) entry { return entry{name: name, kind: tar.TypeSymlink, link: target} }
	hard := func(name, target string) entry { return entry{name: name, kind: tar.TypeLink, link: target} }
	victim := filepath.Join(outside, "victim")
	for _, test := range []struct {
		name    string
		entries []entry
		want    string // empty if the image is harmless
	}{
		{"a path up", []entry{{name: "../../../file", content: "x"}}, "leads out of the image"},
		{"a path up in the middle", []entry{{name: "a/../../../../file", content: "x"}}, "leads out of the image"},
		{"a directory up", []entry{{name: "../d/"}}, "leads out of the image"},
		{"an absolute path", []entry{{name: victim, content: "x"}}, ""},
		{"below an absolute link", []entry{link("a", outside), {name: "a/victim", content: "x"}}, ""},
		{"below a relative link", []entry{link("a", strings.Repeat("../", 20)+outside), {name: "a/victim", content: "x"}}, ""},
		{"below a chain of links", []entry{link("a", "b"), link("b", outside), {name: "a/victim", content: "x"}}, ""},
		{"below a loop of links", []entry{link("a", "b"), link("b", "a"), {name: "a/victim", content: "x"}}, "too many"},
		{"through a link", []entry{link("a", victim), {name: "a", content: "x"}}, ""},
		{"a directory's mode through a link", []entry{{name: "a/", mode: 0o777}, {name: ".wh.a"}, link("a", outside)}, ""},
		{"a hard link up", []entry{hard("a", "../../../../victim"), {name: "a", content: "x"}}, "leads out of the image"},
		{"an absolute hard link", []entry{hard("a", victim)}, "no such file"},
		{"a hard link below a link", []entry{link("d", outside), hard("a", "d/victim")}, "no such file"},
		{"a hard link to a link", []entry{link("d", victim), hard("a", "d"), {name: "a", content: "x"}}, ""},
		{"a hard link to a directory", []entry{{name: "d/"}, hard("a", "d")}, "hard link to the directory"},
		{"a whiteout up", []entry{{name: "a/../../.wh.victim"}}, "leads out of the image"},
		{"a whiteout of the directory above", []entry{{name: "a/.wh..."}}, "it hides no file"},
		{"a whiteout of the directory itself", []entry{{name: ".wh.."}}, "it hides no file"},
		{"a whiteout below a link", []entry{link("a", outside), {name: "a/.wh.victim"}}, ""},
		{"an opaque directory below a link", []entry{link("a", outside), {name: "a/.wh..wh..opq"}}, ""},
		{"an opaque link", []entry{link("a", "/.."), {name: "a/b/.wh..wh..opq"}}, ""},
		{"an unknown kind", []entry{{name: "a", kind: 'Z'}}, "unknown"},
		{"a long name", []entry{{name: strings.Repeat("a/", maxPath) + "a", content: "x"}}, "its name has more than"},
		{"many files", []entry{{name: "a"}, {name: "b"}, {name: "c"}, {name: "d"}, {name: "e"}, {name: "f"}, {name: "g"}, {name: "h"}, {name: "i"}}, "more than 8 files"},
		{"many directories without entries", []entry{{name: "a/b/c/d/e/f/g/h/i"}}, "more than 8 files"},
		{"huge files", []entry{{name: "a", content: strings.Repeat("x", 60_000)}, {name: "b", content: strings.Repeat("x", 60_000)}}, "more than 100000 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := errors.Join(os.WriteFile(victim, []byte("untouched"), 0o600), os.Chmod(outside, 0o700)); err != nil {
				t.Fatal(err)
			}
			store, requireNothing := newStore(t)
			file := dockerArchive(t, map[string]v1.Image{"app:v1": imageOf(t, v1.Config{}, tarOf(t, test.entries...))})
			_, err := Load(t.Context(), store, file, "", Limits{Bytes: 100_000, Files: 8})
			if (err != nil) != (test.want != "") || (err != nil && !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if err != nil {
				requireNothing()
			}
			if diff := cmp.Diff(map[string]string{"victim": "untouched"}, listed(t, outside)); diff != "" {
				t.Error(diff)
			}
			if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%v, %v", info, err)
			}
		})
	}
}

// TestBadArchives checks what is said of archives that are damaged or hostile themselves.
func TestBadArchives(t *testing.T) {
	noise := make([]byte, 30_000)
	for i := range noise {
		noise[i] = byte(i * i >> 3)
	}
	good := imageOf(t, v1.Config{}, tarOf(t, entry{name: "a", content: string(noise)}))
	whole := readAll(t, dockerArchive(t, map[string]v1.Image{"app:v1": good}))
	damaged := layoutOf(t, described(good, "", map[string]string{"io.containerd.image.name": "app:v1"}))
	changeBlob(t, damaged, good)
	other, err := mutate.ConfigFile(good, &v1.ConfigFile{OS: "linux", Architecture: "other"})
	if err != nil {
		t.Fatal(err)
	}
	manifest := func(text string) entry { return entry{name: "manifest.json", content: text} }
	archive := func(entries ...entry) string { return writeFile(t, tarOf(t, entries...)) }
	link := func(name, target string) entry { return entry{name: name, kind: tar.TypeSymlink, link: target} }
	for _, test := range []struct{ name, file, given, want string }{
		{"no file", filepath.Join(t.TempDir(), "none.tar"), "", "no such file"},
		{"no archive", writeFile(t, []byte("hello")), "", "read the archive: unexpected EOF"},
		{"an empty file", writeFile(t, nil), "", "neither an archive of docker save"},
		{"another archive", archive(entry{name: "a"}), "", "neither an archive of docker save"},
		{"truncated", writeFile(t, whole[:len(whole)/2]), "", "unexpected EOF"},
		{"truncated gzip", writeFile(t, compressed(t, whole)[:1_000]), "", "unexpected EOF"},
		{"without its layers", archive(manifest(`[{"Config":"c","RepoTags":["app:v1"],"Layers":["l"]}]`),
			entry{name: "c", content: `{"rootfs":{"type":"layers","diff_ids":["sha256:` + strings.Repeat("0", 64) + `"]}}`}), "", `no "l": is it complete?`},
		{"a changed blob of a layout", damaged, "", "has another digest"},
		{"a path up in its manifest", archive(manifest(`[{"Config":"../../../../../etc/passwd","RepoTags":["app:v1"]}]`)), "", "path escapes"},
		{"a link out of it", archive(manifest(`[{"Config":"c","RepoTags":["app:v1"]}]`), link("c", "/etc/passwd")), "", "path escapes"},
		{"a loop of links", archive(manifest(`[{"Config":"c","RepoTags":["app:v1"]}]`), link("c", "c")), "", "too many levels"},
		{"a directory in place of a file", archive(manifest(`[{"Config":"c","RepoTags":["app:v1"]}]`), entry{name: "c/"}), "", "is not a file"},
		{"no JSON", archive(manifest(`{`)), "", "parse manifest.json"},
		{"a huge manifest", archive(manifest(strings.Repeat(" ", maxDocument+1))), "", "it has more than 4194304 bytes"},
		{"endless indexes", archive(endlessIndex(t)...), "", "nested more than"},
		{"an index that names another a thousand times", archive(wideIndex(t)...), "", "more than 1000 images and indexes"},
		{"more layers than digests", archive(manifest(`[{"Config":"c","RepoTags":["app:v1"],"Layers":["c","c"]}]`), entry{name: "c", content: "{}"}), "", "it has 2 layers, and its configuration names 0"},
		{"another machine's", dockerArchive(t, map[string]v1.Image{"app:v1": other}), "", "it is for linux/other, and this machine runs " + platform()},
		{"a layout for other machines", layoutOf(t, described(good, "other", nil)), "app:v1", "no image for " + platform()},
		{"no name", layoutOf(t, described(good, "", nil)), "", "give a name"},
		{"a bad name", writeFile(t, whole), "My App", "is not an image's name"},
		{"a bad name in it", archive(manifest(`[{"Config":"c","RepoTags":["../../x y"]}]`), entry{name: "c", content: "{}"}), "", "is not an image's name"},
		{"one name for two images", dockerArchive(t, map[string]v1.Image{"app:v1": good, "tool:v1": imageOf(t, v1.Config{})}), "app:v2", "has 2 images"},
		{"the second of two images", dockerArchive(t, map[string]v1.Image{"app:v1": good, "bad:v1": imageOf(t, v1.Config{}, tarOf(t, entry{name: "../x"}))}), "", "leads out"},
	} {
		t.Run(test.name, func(t *testing.T) {
			store, requireNothing := newStore(t)
			_, err := Load(t.Context(), store, test.file, test.given, Limits{Bytes: 10 << 20, Files: 100})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			requireNothing()
		})
	}
}

// changeBlob changes the configuration of an image in a layout.
func changeBlob(t *testing.T, dir string, changed v1.Image) {
	t.Helper()
	digest, err := changed.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, blob(digest))
	if err := os.WriteFile(file, bytes.ReplaceAll(readAll(t, file), []byte("linux"), []byte("minix")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// endlessIndex returns a layout with indexes that are nested deeper than any tool nests them.
func endlessIndex(t *testing.T) []entry {
	t.Helper()
	var entries []entry
	content := `{"schemaVersion":2,"manifests":[]}`
	for range maxNesting + 2 {
		digest, size, err := v1.SHA256(strings.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, entry{name: blob(digest), content: content})
		content = fmt.Sprintf(`{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json","size":%d,"digest":%q}]}`, size, digest)
	}
	return append(entries, entry{name: "index.json", content: content})
}

// wideIndex returns a layout whose index names one other index again and again.
func wideIndex(t *testing.T) []entry {
	t.Helper()
	const empty = `{"schemaVersion":2,"manifests":[]}`
	digest, size, err := v1.SHA256(strings.NewReader(empty))
	if err != nil {
		t.Fatal(err)
	}
	one := fmt.Sprintf(`{"mediaType":"application/vnd.oci.image.index.v1+json","size":%d,"digest":%q}`, size, digest)
	many := strings.TrimSuffix(strings.Repeat(one+",", maxManifests+1), ",")
	return []entry{{name: blob(digest), content: empty}, {name: "index.json", content: `{"schemaVersion":2,"manifests":[` + many + `]}`}}
}

// TestChangedLayer checks that a layer must have the digest that the configuration names.
func TestChangedLayer(t *testing.T) {
	file := writeFile(t, tarOf(t,
		entry{name: "manifest.json", content: `[{"Config":"c","RepoTags":["app:v1"],"Layers":["l"]}]`},
		entry{name: "c", content: `{"rootfs":{"type":"layers","diff_ids":["sha256:` + strings.Repeat("0", 64) + `"]}}`},
		entry{name: "l", content: string(tarOf(t, entry{name: "a", content: "1"}))}))
	store, requireNothing := newStore(t)
	if _, err := Load(t.Context(), store, file, "", ample); err == nil || !strings.Contains(err.Error(), "it is damaged") {
		t.Errorf("error %v", err)
	}
	requireNothing()
}

// TestBomb checks that the limit is of what a compressed archive becomes, also of what follows
// the last entry of a layer.
func TestBomb(t *testing.T) {
	zeros := make([]byte, 20<<20)
	layer := append(tarOf(t, entry{name: "a", content: "1"}), zeros...)
	for name, file := range map[string]string{
		"an archive": writeFile(t, compressed(t, tarOf(t, entry{name: "a", content: string(zeros)}))),
		"a layer":    dockerArchive(t, map[string]v1.Image{"app:v1": imageOf(t, v1.Config{}, layer)}),
	} {
		t.Run(name, func(t *testing.T) {
			store, requireNothing := newStore(t)
			_, err := Load(t.Context(), store, file, "", Limits{Bytes: 10 << 20, Files: 100})
			if err == nil || !strings.Contains(err.Error(), "more than 10485760 bytes") {
				t.Errorf("error %v", err)
			}
			requireNothing()
		})
	}
}

// TestFullDisk checks that an image leaves space on the disk.
func TestFullDisk(t *testing.T) {
	store, requireNothing := newStore(t)
	file := dockerArchive(t, map[string]v1.Image{"app:v1": imageOf(t, v1.Config{}, tarOf(t, entry{name: "a", content: "1"}))})
	limits := ample
	limits.Free = 1 << 62
	if _, err := Load(t.Context(), store, file, "", limits); err == nil || !strings.Contains(err.Error(), "MiB free, and an image must leave") {
		t.Errorf("error %v", err)
	}
	requireNothing()
}

func TestLoadInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	store, requireNothing := newStore(t)
	file := dockerArchive(t, map[string]v1.Image{"app:v1": imageOf(t, v1.Config{}, tarOf(t, entry{name: "a", content: "1"}))})
	if _, err := Load(ctx, store, file, "", ample); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	requireNothing()
}
