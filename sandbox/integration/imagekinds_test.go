//go:build sandbox

package integration

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const loadedPod = `
apiVersion: v1
kind: Pod
metadata: {name: loaded, namespace: default}
spec:
  restartPolicy: Never
  containers:
  - {name: image, image: "registry.example.com/loaded:v1"}
  - {name: args, image: "registry.example.com/loaded:v1", args: [print, file]}
  - name: pod
    image: registry.example.com/loaded:v1
    workingDir: /tmp
    env: [{name: A, value: pod}]
    securityContext: {runAsUser: 2000, runAsNonRoot: true}
`

const goDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: built, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: built}}
  template:
    metadata: {labels: {app: built}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: tool, image: "registry.example.com/built:v1", args: [wait], securityContext: {runAsNonRoot: true}}
`

// TestImagesWithConfiguration runs an image of an archive by its own configuration, and an
// image of a Go package, which is built again and reloaded.
func TestImagesWithConfiguration(t *testing.T) {
	s := newSandbox(t)
	s.up("--clusters=1")
	archive := toolArchive(t, "registry.example.com/loaded:v1")
	if out, err := s.run(t.Context(), "image", "load", archive); requireParts(out, err, "registry.example.com/loaded:v1: "+s.dir) != nil {
		t.Fatalf("image load: %v\n%s", err, out)
	}
	s.apply("cluster1", loadedPod)
	user, other := "1000:100", "2000:0"
	if os.Geteuid() != 0 {
		user, other = "0:0", "0:0" // the only user of the sandbox's user namespace
	}
	for container, want := range map[string]string{
		"image": "user " + user + ", directory /work, HOME /home/app, A image, B b",
		"args":  "content",
		"pod":   "user " + other + ", directory /tmp, HOME /, A pod, B b",
	} {
		eventually(t, "container "+container, func() error {
			out, err := s.kubectl("cluster1", "logs", "loaded", "-c", container)
			if err != nil || out != want {
				return fmt.Errorf("got %q, %w, want %q", out, err, want)
			}
			return nil
		})
	}

	build := func(version string, flags ...string) (string, error) {
		args := append([]string{"image", "go", "registry.example.com/built:v1", "./cmd/tool"}, flags...)
		return s.run(t.Context(), append(args, "--", "-ldflags=-X=main.version="+version)...)
	}
	if out, err := build("one"); err != nil {
		t.Fatalf("image go: %v\n%s", err, out)
	}
	s.apply("cluster1", goDeployment)
	s.must("cluster1", "rollout", "status", "deployment/built", "--timeout=60s")
	pods := s.must("cluster1", "get", "pods", "-l=app=built", "-o=name")
	if out, err := build("two", "--reload"); requireParts(out, err, "registry.example.com/built:v1: 2 pods restarted") != nil {
		t.Fatalf("image go --reload: %v\n%s", err, out)
	}
	if out := s.must("cluster1", "exec", "deployment/built", "--", "tool", "version"); out != "two" {
		t.Errorf("after the reload: version %q", out)
	}
	if now := s.must("cluster1", "get", "pods", "-l=app=built", "-o=name"); now == pods {
		t.Errorf("the same pods after the reload: %s", now)
	}
	out, err := build("broken", "--reload")
	if err == nil {
		t.Error("the reload of a program that ends at once succeeds")
	}
	for _, want := range []string{"registry.example.com/built:v1: 2 pods deleted", "pod default/built-", "container tool ended with exit code 1 (Error)", "    tool: this version is broken"} {
		if !strings.Contains(out, want) {
			t.Errorf("the reload of a program that ends at once does not print %q:\n%s", want, out)
		}
	}
}

// toolArchive writes an archive, as docker save does, of an image with the tests' tool.
func toolArchive(t *testing.T, image string) string {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "tool")
	build(t, program, "./cmd/tool")
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for file, content := range map[string][]byte{"bin/tool": content, "etc/passwd": []byte("app:x:1000:100::/home/app:\n"), "work/file": []byte("content")} {
		if err := w.WriteHeader(&tar.Header{Name: file, Mode: 0o755, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	made, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	config, err := made.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config = v1.Config{Entrypoint: []string{"tool"}, Cmd: []string{"about"}, Env: []string{"A=image", "B=b"}, WorkingDir: "/work", User: "app"}
	if made, err = mutate.ConfigFile(made, config); err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(image)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "image.tar")
	if err := tarball.WriteToFile(file, tag, made); err != nil {
		t.Fatal(err)
	}
	return file
}
