package node

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// tree lists what a reader of the volume sees.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "..") {
			continue
		}
		start, err := filepath.EvalSymlinks(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		err = filepath.WalkDir(start, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			content, err := os.ReadFile(path)
			rest, _ := filepath.Rel(start, path)
			out[filepath.Join(e.Name(), rest)] = string(content)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestWritePayload(t *testing.T) {
	dir := t.TempDir()
	chown := func(string, *int64, *int64) error { return nil }
	versions := [][]plan.File{
		{{Path: "a", Data: []byte("1"), Mode: 0o644}, {Path: "d/x", Data: []byte("1"), Mode: 0o600}},
		{{Path: "a", Data: []byte("2"), Mode: 0o644}, {Path: "d/y", Data: []byte("2"), Mode: 0o644}, {Path: "e", Data: []byte("2"), Mode: 0o644}},
		{{Path: "e", Data: []byte("3"), Mode: 0o400}},
		{},
	}
	for i, files := range versions {
		if err := writePayload(dir, files, chown); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for _, f := range files {
			want[filepath.Clean(f.Path)] = string(f.Data)
		}
		if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
			t.Errorf("version %d:\n%s", i, diff)
		}
		entries, err := filepath.Glob(filepath.Join(dir, "..data-*"))
		if err != nil || len(entries) != 1 {
			t.Errorf("version %d leaves the directories %v (%v), want one", i, entries, err)
		}
		for _, f := range files {
			info, err := os.Stat(filepath.Join(dir, f.Path))
			if err != nil || info.Mode().Perm() != f.Mode {
				t.Errorf("version %d: %s has mode %v (%v), want %v", i, f.Path, info.Mode(), err, f.Mode)
			}
		}
	}
}

// A reader that resolves the link once sees one version's files.
func TestWritePayloadIsAtomic(t *testing.T) {
	dir := t.TempDir()
	chown := func(string, *int64, *int64) error { return nil }
	write := func(version int) {
		text := []byte(fmt.Sprint(version))
		if err := writePayload(dir, []plan.File{{Path: "a", Data: text, Mode: 0o644}, {Path: "b", Data: text, Mode: 0o644}}, chown); err != nil {
			t.Error(err)
		}
	}
	write(0)
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for version := 1; ; version++ {
			select {
			case <-stop:
				return
			default:
				write(version)
			}
		}
	}()
	read := 0
	for range 2000 {
		if _, err := os.Readlink(filepath.Join(dir, dataLink)); err != nil {
			t.Errorf("the link is gone for a moment: %v", err)
		}
		root, err := os.OpenRoot(filepath.Join(dir, dataLink))
		if err != nil {
			continue // replaced between the link and the directory
		}
		a, errA := root.ReadFile("a")
		b, errB := root.ReadFile("b")
		// a version that was replaced since may be gone, but is never mixed
		if errA == nil && errB == nil {
			read++
			if string(a) != string(b) {
				t.Errorf("two versions at once: %s and %s", a, b)
			}
		}
		_ = root.Close()
	}
	if read == 0 {
		t.Error("no version was read whole")
	}
	close(stop)
	<-done
}

func TestVolumeMounts(t *testing.T) {
	v := newVolumes(t.TempDir())
	in := plan.Inputs{Pod: onePod(), Objects: plan.Objects{Secrets: map[string]*corev1.Secret{"s": {Data: map[string][]byte{"k": []byte("secret")}}}}}
	in.Pod.Spec.Volumes = []corev1.Volume{{Name: "s", VolumeSource: secretVolume("s")}, {Name: "e", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	if err := v.sync(in, nil); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(v.path("e"), "out")); err != nil {
		t.Fatal(err)
	}
	mounts := func(m corev1.VolumeMount) ([]Mount, error) {
		return v.mounts(&in.Pod.Spec, corev1.Container{VolumeMounts: []corev1.VolumeMount{m}}, map[string]string{"POD": "p"})
	}
	got, err := mounts(corev1.VolumeMount{Name: "s", MountPath: "/s"})
	if diff := cmp.Diff([]Mount{{Source: v.path("s"), Target: "/s", ReadOnly: true}}, got); diff != "" || err != nil {
		t.Errorf("a Secret is read-only: %v\n%s", err, diff)
	}
	got, err = mounts(corev1.VolumeMount{Name: "e", MountPath: "/e", SubPathExpr: "logs/$(POD)"})
	if diff := cmp.Diff([]Mount{{Source: filepath.Join(v.path("e"), "logs", "p"), Target: "/e"}}, got); diff != "" || err != nil {
		t.Errorf("a subPath is made: %v\n%s", err, diff)
	}
	got, err = mounts(corev1.VolumeMount{Name: "s", MountPath: "/f", SubPath: "k"})
	if err != nil || !strings.Contains(got[0].Source, "..data-") {
		t.Errorf("a file of a Secret is the one of now: %v, %v", got, err)
	}
	for _, path := range []string{"../x", "out", "out/new"} {
		if got, err := mounts(corev1.VolumeMount{Name: "e", MountPath: "/x", SubPath: path}); err == nil {
			t.Errorf("subPath %s leads to %v", path, got)
		}
	}
	if made, err := os.ReadDir(outside); err != nil || len(made) > 0 {
		t.Errorf("created outside: %v, %v", made, err)
	}
}
