package sandboxtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestToUnstructured(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "a"}
	for _, test := range []struct {
		name, want string
		object     runtime.Object
	}{
		{"a Go type of Kubernetes", "v1 ConfigMap", &corev1.ConfigMap{ObjectMeta: meta}},
		{"one that has its kind", "example.com/v1 App", &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "App"}, ObjectMeta: meta}},
		{"an unknown Go type without a kind", "apply a *v1.PartialObjectMetadata: set its apiVersion and kind", &metav1.PartialObjectMetadata{ObjectMeta: meta}},
	} {
		t.Run(test.name, func(t *testing.T) {
			object, err := toUnstructured(test.object)
			if err != nil {
				if !strings.HasPrefix(err.Error(), test.want) {
					t.Errorf("error %v, want %s", err, test.want)
				}
				return
			}
			if got := object.GetAPIVersion() + " " + object.GetKind(); got != test.want || object.GetName() != "a" {
				t.Errorf("got %s %s, want %s a", got, object.GetName(), test.want)
			}
		})
	}
}

func TestReadPath(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"good/2.yaml": "kind: B\n---\n---\nkind: C\n", "good/1.json": `{"kind": "A"}`, "good/README.md": "text", "good/sub/3.yaml": "kind: D",
		"empty/README.md": "text", "kustomized/kustomization.yaml": "resources: []", "bad/1.yaml": "kind: [",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ name, path, want string }{
		{"a directory, sorted, without subdirectories", "good", "A B C"},
		{"a file", "good/2.yaml", "B C"},
		{"no such file", "none", "no such file"},
		{"no manifests", "empty", "has no file *.yaml, *.yml or *.json"},
		{"a kustomization", "kustomized", "render it (kubectl kustomize "},
		{"a file that cannot be parsed is named", "bad", "1.yaml: decode a manifest"},
	} {
		t.Run(test.name, func(t *testing.T) {
			objects, err := readPath(filepath.Join(dir, test.path))
			var kinds []string
			for _, object := range objects {
				kinds = append(kinds, object.GetKind())
			}
			got := strings.Join(kinds, " ")
			if err != nil {
				if !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v, want %s", err, test.want)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
