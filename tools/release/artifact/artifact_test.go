package artifact

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"helm.sh/helm/v3/pkg/chart/loader"

	"open-cluster-management.io/helloworld-addon/tools/release/krew"
)

var date = time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC)

// small is a repository whose one product has the programs agent and hub, and a
// kubectl plugin.
func small(t *testing.T) (source string, p product) {
	t.Helper()
	source = t.TempDir()
	program := "package main\n\nimport \"k8s.io/component-base/version\"\n\nfunc main() { println(version.Get()) }\n"
	for path, text := range map[string]string{
		"LICENSE": "free\n",
		"go.mod": "module example.com/small\n\ngo 1.26.0\n\nrequire k8s.io/component-base v0.0.0\n\n" +
			"replace k8s.io/component-base => ./component-base\n",
		"component-base/go.mod":                                  "module k8s.io/component-base\n\ngo 1.26.0\n",
		"component-base/version/version.go":                      "package version\n\nvar gitVersion, gitCommit string\n\nfunc Get() (string, string) { return gitVersion, gitCommit }\n",
		"cmd/hub/main.go":                                        program,
		"cmd/agent/main.go":                                      program,
		"cmd/kubectl-small/main.go":                              program,
		"deploy/chart/helloworld-addon/Chart.yaml":               "apiVersion: v2\nname: helloworld-addon\nversion: 0.1.0\nappVersion: v0.1.0\n",
		"deploy/chart/helloworld-addon/values.yaml":              "replicas: 2\n",
		"deploy/chart/helloworld-addon/templates/configmap.yaml": "kind: ConfigMap\n",
	} {
		path = filepath.Join(source, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return source, product{name: "small", module: ".", images: []image{
		{name: "all", description: "Both"}, {name: "one", description: "One", programs: []string{"agent"}},
	}, plugin: &krew.Plugin{Name: "small", Short: "A small plugin"}}
}

// build returns the content of the release's files by name.
func build(t *testing.T, date time.Time) map[string][]byte {
	t.Helper()
	source, p := small(t)
	o := Options{
		Source: source, Out: filepath.Join(t.TempDir(), "new", "dist"), Version: "v0.1.0", Commit: "c0ffee",
		Date: date, Log: io.Discard, products: []product{p},
	}
	if err := Build(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := Build(t.Context(), o); err == nil {
		t.Error("a release that exists was written again")
	}
	files := map[string][]byte{}
	all, err := filesBelow(o.Out, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if files[f.name], err = os.ReadFile(f.path); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestBuild(t *testing.T) {
	files := build(t, date)
	again := build(t, date.In(time.FixedZone("", 3600))) // elsewhere, from files of another time

	var names, sums []string
	for name, content := range files {
		names = append(names, name)
		if name != Sums {
			sums = append(sums, fmt.Sprintf("%x  %s\n", sha256.Sum256(content), name))
		}
		if !bytes.Equal(content, again[name]) {
			t.Errorf("two runs gave different bytes: %s", name)
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{
		"SHA256SUMS", "all-v0.1.0.oci.tar", "helloworld-addon-0.1.0.tgz",
		"kubectl-small-v0.1.0-darwin-amd64.cdx.json", "kubectl-small-v0.1.0-darwin-amd64.tar.gz",
		"kubectl-small-v0.1.0-darwin-arm64.cdx.json", "kubectl-small-v0.1.0-darwin-arm64.tar.gz",
		"kubectl-small-v0.1.0-linux-amd64.cdx.json", "kubectl-small-v0.1.0-linux-amd64.tar.gz",
		"kubectl-small-v0.1.0-linux-arm64.cdx.json", "kubectl-small-v0.1.0-linux-arm64.tar.gz",
		"kubectl-small-v0.1.0-windows-amd64.cdx.json", "kubectl-small-v0.1.0-windows-amd64.zip",
		"kubectl-small-v0.1.0-windows-arm64.cdx.json", "kubectl-small-v0.1.0-windows-arm64.zip",
		"one-v0.1.0.oci.tar",
		"small-v0.1.0-linux-amd64.cdx.json", "small-v0.1.0-linux-amd64.tar.gz",
		"small-v0.1.0-linux-arm64.cdx.json", "small-v0.1.0-linux-arm64.tar.gz",
		"small.yaml",
	}, names); diff != "" {
		t.Error("files (-want +got):\n" + diff)
	}
	slices.SortFunc(sums, func(a, b string) int { return strings.Compare(a[66:], b[66:]) })
	if diff := cmp.Diff(strings.Join(sums, ""), string(files[Sums])); diff != "" {
		t.Error("checksums (-want +got):\n" + diff)
	}

	t.Run("programs", func(t *testing.T) {
		got := entries(t, uncompressed(t, files["small-v0.1.0-linux-arm64.tar.gz"]))
		if diff := cmp.Diff([]string{
			"-rw-r--r-- small-v0.1.0-linux-arm64/LICENSE",
			"-rwxr-xr-x small-v0.1.0-linux-arm64/agent",
			"-rwxr-xr-x small-v0.1.0-linux-arm64/hub",
			"-rwxr-xr-x small-v0.1.0-linux-arm64/kubectl-small",
		}, got); diff != "" {
			t.Error("archive (-want +got):\n" + diff)
		}
	})
	t.Run("zip", func(t *testing.T) {
		content := files["kubectl-small-v0.1.0-windows-amd64.zip"]
		archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range archive.File {
			got = append(got, fmt.Sprint(f.Mode(), " ", f.Name, " ", f.Modified.Equal(date)))
		}
		if diff := cmp.Diff([]string{"-rw-r--r-- LICENSE true", "-rwxr-xr-x kubectl-small.exe true"}, got); diff != "" {
			t.Error("archive (-want +got):\n" + diff)
		}
	})
	t.Run("version", func(t *testing.T) {
		archive, err := io.ReadAll(uncompressed(t, files["small-v0.1.0-linux-arm64.tar.gz"]))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		unpack(t, archive, dir)
		program, err := os.ReadFile(filepath.Join(dir, "small-v0.1.0-linux-arm64", "agent"))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"v0.1.0", "c0ffee"} {
			if !bytes.Contains(program, []byte(text)) {
				t.Errorf("the programs do not know %s", text)
			}
		}
	})
	t.Run("chart", func(t *testing.T) {
		chart, err := loader.LoadArchive(bytes.NewReader(files["helloworld-addon-0.1.0.tgz"]))
		if err != nil {
			t.Fatal("Helm cannot read it:", err)
		}
		if chart.Metadata.AppVersion != "v0.1.0" || len(chart.Templates) != 1 {
			t.Errorf("Helm read version %s and %d templates", chart.Metadata.AppVersion, len(chart.Templates))
		}
	})
	for _, name := range []string{
		"small-v0.1.0-linux-amd64", "kubectl-small-v0.1.0-darwin-arm64", "kubectl-small-v0.1.0-linux-arm64", "kubectl-small-v0.1.0-windows-amd64",
	} {
		t.Run("SBOM of "+name, func(t *testing.T) { namesModules(t, files[name+".cdx.json"]) })
	}
	t.Run("images", func(t *testing.T) {
		imagesHave(t, files["all-v0.1.0.oci.tar"], "all", "usr/local/bin/agent", "usr/local/bin/hub", "usr/local/bin/kubectl-small")
		imagesHave(t, files["one-v0.1.0.oci.tar"], "one", "usr/local/bin/agent")
	})
	t.Run("krew", func(t *testing.T) { krewInstalls(t, files, "small", `v0.1.0 c0ffee`) })
}

// namesModules checks that an SBOM has the release's date, the product's module and Go's library.
func namesModules(t *testing.T, content []byte) {
	t.Helper()
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(content), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if bom.Metadata.Timestamp != "2026-11-22T12:00:00Z" {
		t.Error("time:", bom.Metadata.Timestamp)
	}
	var ours, standard bool
	for _, c := range *bom.Components {
		ours = ours || c.Name == "example.com/small" && c.Version == "v0.1.0" && c.Licenses != nil
		standard = standard || c.Name == "stdlib" && strings.HasPrefix(c.Version, "go1.")
	}
	if !ours || !standard {
		t.Errorf("the product's module and Go's library: %t and %t", ours, standard)
	}
}

// TestEmptySBOM: an SBOM without modules would tell users that the programs have none.
func TestEmptySBOM(t *testing.T) {
	for _, os := range []string{"linux", "darwin"} {
		if err := (Options{}).writeSBOM(t.Context(), io.Discard, programs{os: os, bin: t.TempDir()}); err == nil {
			t.Errorf("%s: no error", os)
		}
	}
}

// imagesHave checks the images in an archive, one for each architecture.
func imagesHave(t *testing.T, archive []byte, title string, programs ...string) {
	t.Helper()
	dir := t.TempDir()
	unpack(t, archive, dir)
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(top); err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"io.containerd.image.name":          "quay.io/open-cluster-management/" + title + ":v0.1.0",
		"org.opencontainers.image.ref.name": "v0.1.0",
	}
	if diff := cmp.Diff(want, manifest.Manifests[0].Annotations); diff != "" {
		t.Error("names (-want +got):\n" + diff)
	}
	index, err := top.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	platforms, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range platforms.Manifests {
		got = append(got, d.Platform.String())
		img, err := index.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		imageHas(t, img, title, programs)
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, got); diff != "" {
		t.Error("platforms (-want +got):\n" + diff)
	}
}

func imageHas(t *testing.T, img v1.Image, title string, programs []string) {
	t.Helper()
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || config.Config.Labels["org.opencontainers.image.title"] != title || !config.Created.Equal(date) {
		t.Errorf("configuration: %+v", config)
	}
	layers, err := img.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatal("layers:", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"drwxr-xr-x usr/", "drwxr-xr-x usr/local/", "drwxr-xr-x usr/local/bin/"}
	for _, p := range programs {
		want = append(want, "-rwxr-xr-x "+p)
	}
	if diff := cmp.Diff(want, entries(t, content)); diff != "" {
		t.Error("files (-want +got):\n" + diff)
	}
}

func unpack(t *testing.T, content []byte, dir string) {
	t.Helper()
	for archive := tar.NewReader(bytes.NewReader(content)); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, header.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// entries lists a tar archive, and checks owner and date.
func entries(t *testing.T, r io.Reader) (list []string) {
	t.Helper()
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || !header.ModTime.Equal(date) {
			t.Errorf("%s: user %d, date %s", header.Name, header.Uid, header.ModTime)
		}
		list = append(list, header.FileInfo().Mode().String()+" "+header.Name)
	}
}

func uncompressed(t *testing.T, content []byte) io.Reader {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The images of the release and of docker build are the same ones.
func TestDockerfiles(t *testing.T) {
	top := "../../.."
	quoted := regexp.MustCompile(`([a-z.]+)="([^"]*)"`)
	for _, c := range []struct {
		file string
		p    product
	}{
		{"Dockerfile", ours[0]},
		{"hub-of-hubs-status-sync/Dockerfile", ours[1]},
	} {
		t.Run(c.file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(top, c.file))
			if err != nil {
				t.Fatal(err)
			}
			labels := map[string][]string{}
			for _, match := range quoted.FindAllStringSubmatch(string(text), -1) {
				labels[match[1]] = append(labels[match[1]], match[2])
			}
			for _, i := range c.p.images {
				for name, value := range i.labels("${VERSION}", "${COMMIT}") {
					if !slices.Contains(labels[name], value) {
						t.Errorf("image %s: the Dockerfile's %s is %q, the release's %q", i.name, name, labels[name], value)
					}
				}
				for _, command := range i.entrypoint {
					if line := fmt.Sprintf("ENTRYPOINT [%q]", command); !strings.Contains(string(text), "\n"+line+"\n") {
						t.Errorf("image %s: the Dockerfile has no line %s", i.name, line)
					}
				}
				for _, program := range i.programs {
					if !strings.Contains(string(text), "/out/"+program) {
						t.Errorf("image %s: the Dockerfile lacks %s", i.name, program)
					}
				}
			}
			if len(c.p.images[0].entrypoint) == 0 && strings.Contains(string(text), "\nENTRYPOINT") {
				t.Error("the Dockerfile's image has an entrypoint, the release's none")
			}
			for _, line := range []string{"USER " + user, "ENV PATH=" + searchPath} {
				if !strings.Contains(string(text), "\n"+line+"\n") {
					t.Errorf("the Dockerfile has no line %q", line)
				}
			}
		})
	}
}

// TestImagePrograms: the images have every program but the kubectl plugin, however they are built.
func TestImagePrograms(t *testing.T) {
	top := "../../.."
	entries, err := os.ReadDir(filepath.Join(top, "cmd"))
	if err != nil {
		t.Fatal(err)
	}
	var programs []string
	for _, entry := range entries {
		if name := entry.Name(); name != "kubectl-helloworld" {
			programs = append(programs, name)
		}
	}
	if diff := cmp.Diff(programs, ours[0].images[0].programs); diff != "" {
		t.Error("the release's image (-want +got):\n" + diff)
	}
	output, err := exec.Command("make", "-C", top, "--dry-run", "image-root").Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := "for p in " + strings.Join(programs, " ") + "; do install"; !strings.Contains(string(output), want) {
		t.Errorf("make image-root does not have %q:\n%s", want, output)
	}
	for file, build := range map[string]string{
		"Dockerfile": "-o /out/ ", "tools/images-multiarch": `-o "bin/multiarch/$arch/usr/local/bin/" \` + "\n    ",
	} {
		text, err := os.ReadFile(filepath.Join(top, file))
		if err != nil {
			t.Fatal(err)
		}
		if want := build + "./cmd/helloworld-* ./cmd/klusterlet-addon-lease-controller\n"; !strings.Contains(string(text), want) {
			t.Errorf("%s does not have %q", file, want)
		}
	}
}
