package mount

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestVolume(t *testing.T) {
	secret := func(data map[string]string) any {
		object := &corev1.Secret{Data: map[string][]byte{}}
		for key, value := range data {
			object.Data[key] = []byte(value)
		}
		return object
	}
	steps := []struct {
		name   string
		object any
		want   map[string]string
		ready  bool
	}{
		{"no secret: no file, and a new pod waits", nil, nil, false},
		{"the secret's keys are files", secret(map[string]string{"kubeconfig": "a", "tls.crt": "b"}), map[string]string{"kubeconfig": "a", "tls.crt": "b"}, true},
		{"a key that changes and one that goes", secret(map[string]string{"kubeconfig": "c"}), map[string]string{"kubeconfig": "c"}, true},
		{"a deleted secret: the files stay for who runs, a new pod waits", nil, map[string]string{"kubeconfig": "c"}, false},
	}
	volume := &Volume{dir: filepath.Join(t.TempDir(), "volume")}
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			volume.set(t.Context(), step.object)
			if diff := cmp.Diff(step.want, files(t, volume.dir)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if ready, err := volume.Ready(); err != nil || ready != step.ready {
				t.Errorf("ready = %t, %v", ready, err)
			}
		})
	}
}

func TestReadyWritesWhatWasRemoved(t *testing.T) {
	volume := &Volume{dir: filepath.Join(t.TempDir(), "volume")}
	volume.set(t.Context(), &corev1.Secret{Data: map[string][]byte{"kubeconfig": []byte("a")}})
	if err := os.RemoveAll(volume.dir); err != nil {
		t.Fatal(err)
	}
	if ready, err := volume.Ready(); err != nil || !ready {
		t.Fatalf("ready = %t, %v", ready, err)
	}
	if diff := cmp.Diff(map[string]string{"kubeconfig": "a"}, files(t, volume.dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var found map[string]string
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if found == nil {
			found = map[string]string{}
		}
		found[entry.Name()] = string(content)
	}
	return found
}
