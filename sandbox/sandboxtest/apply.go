package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"open-cluster-management.io/helloworld-addon/sandbox/apply"
)

// Apply applies the objects by server-side apply, in their order. An object of a namespaced kind without a
// namespace goes to the namespace default. An object of a kind that is not Kubernetes' own needs its
// apiVersion and kind. Apply waits up to 30 s for an unknown kind, because its CRD may be new.
func (c *Cluster) Apply(t testing.TB, objects ...runtime.Object) {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, object := range objects {
		converted, err := toUnstructured(object)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, converted)
	}
	c.applyAll(t, all)
}

// ApplyYAML applies YAML or JSON documents as Apply does.
func (c *Cluster) ApplyYAML(t testing.TB, documents string) {
	t.Helper()
	objects, err := apply.Decode([]byte(documents))
	if err != nil {
		t.Fatal(err)
	}
	c.applyAll(t, objects)
}

// ApplyFiles applies the YAML or JSON documents in files as Apply does. Of a directory it applies the files
// *.yaml, *.yml and *.json, sorted by name, without those in subdirectories. A relative path is relative to
// the directory of the test's package.
func (c *Cluster) ApplyFiles(t testing.TB, paths ...string) {
	t.Helper()
	for _, path := range paths {
		objects, err := readPath(path)
		if err != nil {
			t.Fatal(err)
		}
		c.applyAll(t, objects)
	}
}

// ApplyFS applies the YAML or JSON documents in files of a file system, for example an embed.FS, as Apply
// does. The patterns are those of path.Match, for example manifests/*.yaml; each has to match a file.
func (c *Cluster) ApplyFS(t testing.TB, fsys fs.FS, patterns ...string) {
	t.Helper()
	for _, pattern := range patterns {
		names, err := fs.Glob(fsys, pattern)
		if err == nil && len(names) == 0 {
			err = errors.New("no file has such a name")
		}
		if err != nil {
			t.Fatalf("apply %s: %v", pattern, err)
		}
		objects, err := readFiles(fsys, names)
		if err != nil {
			t.Fatal(err)
		}
		c.applyAll(t, objects)
	}
}

func (c *Cluster) applyAll(t testing.TB, objects []*unstructured.Unstructured) {
	t.Helper()
	ctx, cancel := waitContext(t, commandTimeout)
	defer cancel()
	if err := c.applyObjects(ctx, objects); err != nil {
		t.Fatal(err)
	}
}

func (c *Cluster) applyObjects(ctx context.Context, objects []*unstructured.Unstructured) error {
	applier, err := c.applier()
	if err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	for _, object := range objects {
		if _, err := applier.ApplyObject(ctx, object); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// toUnstructured converts an object. That of a Kubernetes kind may lack apiVersion and kind, as values of
// Go types do.
func toUnstructured(object runtime.Object) (*unstructured.Unstructured, error) {
	gvk := object.GetObjectKind().GroupVersionKind()
	if gvk.Empty() {
		known, _, err := scheme.Scheme.ObjectKinds(object)
		if err != nil {
			return nil, fmt.Errorf("apply a %T: set its apiVersion and kind (TypeMeta): %w", object, err)
		}
		gvk = known[0]
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("convert a %T: %w", object, err)
	}
	converted := &unstructured.Unstructured{Object: content}
	converted.SetGroupVersionKind(gvk)
	return converted, nil
}

// readPath reads the objects of a file, or of the files of a directory.
func readPath(path string) ([]*unstructured.Unstructured, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	dir, names := filepath.Dir(path), []string{filepath.Base(path)}
	if info.IsDir() {
		dir = path
		if names, err = manifestsIn(path); err != nil {
			return nil, err
		}
	}
	return readFiles(os.DirFS(dir), names)
}

// manifestsIn returns the names of the manifests in a directory.
func manifestsIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	var names []string
	for _, entry := range entries {
		if !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(entry.Name())) {
			names = append(names, entry.Name())
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no file *.yaml, *.yml or *.json", dir)
	}
	if slices.ContainsFunc(names, isKustomization) {
		return nil, fmt.Errorf("%s is a kustomization: render it (kubectl kustomize %s) and use ApplyYAML", dir, dir)
	}
	return names, nil
}

// isKustomization reports whether kustomize reads a file of this name:
// https://kubectl.docs.kubernetes.io/references/kustomize/glossary/#kustomization
func isKustomization(name string) bool {
	return name == "kustomization.yaml" || name == "kustomization.yml"
}

func readFiles(fsys fs.FS, names []string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, name := range names {
		content, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("read manifests: %w", err)
		}
		objects, err := apply.Decode(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, objects...)
	}
	return all, nil
}
