package node

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// describe writes files down for a comparison.
func describe(files []file) []string {
	out := []string{}
	for _, f := range files {
		line := fmt.Sprintf("%s %o %s", f.Path, f.Mode, f.Data)
		if f.UID != nil {
			line += fmt.Sprintf(" uid=%d", *f.UID)
		}
		if f.GID != nil {
			line += fmt.Sprintf(" gid=%d", *f.GID)
		}
		out = append(out, line)
	}
	return out
}

func projectedVolume() corev1.VolumeSource {
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", Audience: "aud"}},
		{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}, Items: []corev1.KeyToPath{{Key: "k", Path: "sub/ca.crt"}}}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
			{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}, Mode: ptr.To[int32](0o400)}}}},
	}}}
}

func secretVolume(name string, optional bool, items ...corev1.KeyToPath) corev1.VolumeSource {
	return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name, Optional: &optional, Items: items, DefaultMode: ptr.To[int32](0o440)}}
}

func TestPayload(t *testing.T) {
	for _, c := range []struct {
		name     string
		source   corev1.VolumeSource
		security *corev1.PodSecurityContext
		want     []string
		fails    string
		why      string
	}{
		{"secret", secretVolume("s", false), nil, []string{"k 440 secret"}, "", "every key, the default mode"},
		{"items", secretVolume("s", false, corev1.KeyToPath{Key: "k", Path: "a/b", Mode: ptr.To[int32](0o600)}), nil, []string{"a/b 600 secret"}, "", "only the items, their modes"},
		{"missing", secretVolume("no", false), nil, nil, `secret "no" not found`, "a required Secret"},
		{"missing key", secretVolume("s", false, corev1.KeyToPath{Key: "no", Path: "x"}), nil, nil, "couldn't find key no in secret ns/s", "a required key"},
		{"optional", secretVolume("no", true), nil, []string{}, "", "an optional Secret that is absent is an empty volume"},
		{"optional key", secretVolume("s", true, corev1.KeyToPath{Key: "no", Path: "x"}), nil, []string{}, "", "an optional key that is absent is no file"},
		{"outside", secretVolume("s", false, corev1.KeyToPath{Key: "k", Path: "../x"}), nil, nil, "does not stay inside", "no way out of the volume"},
		{"reserved", secretVolume("s", false, corev1.KeyToPath{Key: "k", Path: "..data"}), nil, nil, "does not stay inside", "the writer's own name"},
		{"projected", projectedVolume(), nil, []string{"labels 400 a=\"1\"\nb=\"2\"", "sub/ca.crt 644 config", "token 644 t"}, "", "all sources in one directory"},
		{"projected for a user", projectedVolume(), &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](1000)},
			[]string{"labels 400 a=\"1\"\nb=\"2\"", "sub/ca.crt 644 config", "token 600 t uid=1000"}, "", "a token is for its one user only"},
		{"projected for a group", projectedVolume(), &corev1.PodSecurityContext{FSGroup: ptr.To[int64](7)},
			[]string{"labels 440 a=\"1\"\nb=\"2\" gid=7", "sub/ca.crt 644 config gid=7", "token 640 t gid=7"}, "", "the group can read everything"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := testSurroundings()
			in.Pod.Spec.SecurityContext, in.Pod.Spec.Containers = c.security, []corev1.Container{{Name: "c"}}
			tokens := map[tokenRequest]token{{Audience: "aud", Seconds: 3600}: {Value: "t"}}
			got, err := payload(corev1.Volume{Name: "v", VolumeSource: c.source}, in, tokens)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("error %v, want %q: %s", err, c.fails, c.why)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, describe(got)); diff != "" {
				t.Errorf("%s:\n%s", c.why, diff)
			}
		})
	}
}

func TestTokenRefresh(t *testing.T) {
	issued := time.Unix(1000, 0)
	for _, c := range []struct {
		name string
		life time.Duration
		want time.Duration
	}{
		{"an hour: after 80 %", time.Hour, 48 * time.Minute},
		{"ten minutes", 10 * time.Minute, 8 * time.Minute},
		{"a year: after a day", 365 * 24 * time.Hour, 24 * time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := token{Issued: issued, Expires: issued.Add(c.life)}.refreshAt().Sub(issued)
			if got != c.want {
				t.Errorf("refreshed after %s, want %s", got, c.want)
			}
		})
	}
}

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
	versions := [][]file{
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
		if err := writePayload(dir, []file{{Path: "a", Data: text, Mode: 0o644}, {Path: "b", Data: text, Mode: 0o644}}, chown); err != nil {
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
	in := testSurroundings()
	in.Pod.Spec.Volumes = []corev1.Volume{{Name: "s", VolumeSource: secretVolume("s", false)}, {Name: "e", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	if err := v.sync(in, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(v.path("e"), "out")); err != nil {
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
	for _, path := range []string{"../x", "out"} {
		if got, err := mounts(corev1.VolumeMount{Name: "e", MountPath: "/x", SubPath: path}); err == nil {
			t.Errorf("subPath %s leads to %v", path, got)
		}
	}
}
