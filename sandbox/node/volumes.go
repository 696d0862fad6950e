package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	corev1 "k8s.io/api/core/v1"
)

// The modes of directories that every user of a pod may write to, as kubelet's
// empty directories; the group's bit makes new files belong to the pod's fsGroup.
const (
	emptyDirMode      = fs.FileMode(0o777)
	emptyDirGroupMode = fs.FileMode(0o777) | fs.ModeSetgid
)

// volumes are the volumes of one pod, on disk.
type volumes struct {
	dir   string
	chown chowner
	// written is what payload volumes contain.
	written map[string][]file
}

func newVolumes(dir string) *volumes {
	return &volumes{dir: dir, chown: chownMapped, written: map[string][]file{}}
}

func (v *volumes) path(name string) string { return filepath.Join(v.dir, name) }

// volumeError is a volume that could not be set up, in kubelet's words.
type volumeError struct {
	Volume string
	Err    error
}

func (e *volumeError) Error() string {
	return fmt.Sprintf("MountVolume.SetUp failed for volume %q : %v", e.Volume, e.Err)
}

func (e *volumeError) Unwrap() error { return e.Err }

// sync brings every volume to what it has to contain. What already does is not
// touched. It goes on after an error, and returns the first as a *volumeError.
func (v *volumes) sync(in surroundings, tokens map[tokenRequest]token) error {
	var errs []error
	for _, volume := range in.Pod.Spec.Volumes {
		if err := v.syncOne(volume, in, tokens); err != nil {
			errs = append(errs, &volumeError{Volume: volume.Name, Err: err})
		}
	}
	if len(errs) > 0 {
		return errs[0]
	}
	return nil
}

func (v *volumes) syncOne(volume corev1.Volume, in surroundings, tokens map[tokenRequest]token) error {
	if !hasPayload(volume) {
		return v.makeEmptyDir(volume.Name, fsGroup(&in.Pod.Spec))
	}
	files, err := payload(volume, in, tokens)
	if err != nil {
		return err
	}
	if known, ok := v.written[volume.Name]; ok && reflect.DeepEqual(known, files) {
		return nil
	}
	if err := writePayload(v.path(volume.Name), files, v.chown); err != nil {
		return err
	}
	v.written[volume.Name] = files
	return nil
}

// makeEmptyDir makes an emptyDir once; what containers put there stays.
func (v *volumes) makeEmptyDir(name string, group *int64) error {
	dir := v.path(name)
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create an emptyDir: %w", err)
	}
	mode := emptyDirMode
	if group != nil {
		mode = emptyDirGroupMode
	}
	if err := v.chown(dir, nil, group); err != nil {
		return err
	}
	if err := os.Chmod(dir, mode); err != nil {
		return fmt.Errorf("open an emptyDir to the pod's users: %w", err)
	}
	return nil
}

// mounts are the mounts of a container. A subPath is resolved now, so that the
// container keeps the file that was there at its start, as with kubelet.
func (v *volumes) mounts(spec *corev1.PodSpec, c corev1.Container, env map[string]string) ([]Mount, error) {
	payloads := map[string]bool{}
	for _, volume := range spec.Volumes {
		payloads[volume.Name] = hasPayload(volume)
	}
	var out []Mount
	for _, m := range c.VolumeMounts {
		source, err := v.source(m, expand(m.SubPathExpr, env))
		if err != nil {
			return nil, fmt.Errorf("mount volume %q at %s: %w", m.Name, m.MountPath, err)
		}
		out = append(out, Mount{Source: source, Target: m.MountPath, ReadOnly: m.ReadOnly || payloads[m.Name]})
	}
	return out, nil
}

// source is the file or directory of the node that a mount shows.
func (v *volumes) source(m corev1.VolumeMount, expression string) (string, error) {
	root := v.path(m.Name)
	sub := m.SubPath + expression // at most one of them is set
	if sub == "" {
		return root, nil
	}
	if !filepath.IsLocal(sub) {
		return "", fmt.Errorf("subPath %q does not stay inside of the volume", sub)
	}
	path := filepath.Join(root, sub)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(path, 0o750); err != nil {
			return "", fmt.Errorf("create subPath %q: %w", sub, err)
		}
		if err := os.Chmod(path, emptyDirMode); err != nil {
			return "", fmt.Errorf("open subPath %q to the pod's users: %w", sub, err)
		}
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("find subPath %q: %w", sub, err)
	}
	inside, err := filepath.Rel(root, resolved)
	if err != nil || !filepath.IsLocal(inside) {
		return "", fmt.Errorf("subPath %q leads out of the volume", sub)
	}
	return resolved, nil
}
