package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
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
	written map[string][]plan.File
}

func newVolumes(dir string) *volumes {
	return &volumes{dir: dir, chown: chownMapped, written: map[string][]plan.File{}}
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
func (v *volumes) sync(in plan.Inputs, tokens map[plan.TokenRequest]plan.Token) error {
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

func (v *volumes) syncOne(volume corev1.Volume, in plan.Inputs, tokens map[plan.TokenRequest]plan.Token) error {
	if !plan.HasFiles(volume) {
		return v.makeEmptyDir(volume.Name, plan.FSGroup(&in.Pod.Spec))
	}
	files, err := plan.Files(volume, in, tokens)
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
		payloads[volume.Name] = plan.HasFiles(volume)
	}
	var out []Mount
	for _, m := range c.VolumeMounts {
		source, err := v.source(m, plan.Expand(m.SubPathExpr, env))
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

// The names in a volume that the writer keeps for itself, as kubelet's does:
// dataLink points to the directory with the current files, and every name that
// the pod sees points through it.
const (
	dataLink    = "..data"
	newDataLink = "..data_tmp"
	dataPattern = "..data-*"
)

// writePayload makes the files the content of the volume's directory, all at
// once: the new ones are written beside the old ones, and one rename of dataLink
// lets every name point to them. A reader that follows dataLink once sees the
// files of one version.
func writePayload(dir string, files []plan.File, chown chowner) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create the volume's directory: %w", err)
	}
	old, err := os.Readlink(filepath.Join(dir, dataLink))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the link to the volume's files: %w", err)
	}
	data, err := os.MkdirTemp(dir, dataPattern)
	if err != nil {
		return fmt.Errorf("create a directory for the volume's files: %w", err)
	}
	err = errors.Join(os.Chmod(data, 0o755), writeFiles(data, files, chown))
	if err == nil {
		err = swap(dir, filepath.Base(data))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write the volume's files: %w", err), os.RemoveAll(data))
	}
	if err := link(dir, files); err != nil {
		return err
	}
	if old == "" {
		return nil
	}
	if err := os.RemoveAll(filepath.Join(dir, filepath.Base(old))); err != nil {
		return fmt.Errorf("remove the volume's old files: %w", err)
	}
	return nil
}

func writeFiles(data string, files []plan.File, chown chowner) error {
	for _, f := range files {
		path := filepath.Join(data, f.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			return err
		}
		if err := chown(path, f.UID, f.GID); err != nil {
			return err
		}
		// after the change of the owner, which may clear bits
		if err := os.Chmod(path, f.Mode); err != nil {
			return err
		}
	}
	return nil
}

// swap makes the directory the current one.
func swap(dir, data string) error {
	fresh := filepath.Join(dir, newDataLink)
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(data, fresh); err != nil {
		return err
	}
	return os.Rename(fresh, filepath.Join(dir, dataLink))
}

// link makes the names that the pod sees, and removes those that are gone.
func link(dir string, files []plan.File) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list the volume: %w", err)
	}
	var there []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "..") {
			there = append(there, e.Name())
		}
	}
	add, remove := linkPlan(there, files)
	for _, name := range add {
		if err := os.Symlink(filepath.Join(dataLink, name), filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("link a file of the volume: %w", err)
		}
	}
	for _, name := range remove {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("remove the link of a file that is gone: %w", err)
		}
	}
	return nil
}

// linkPlan says which top-level names have to come and to go.
func linkPlan(there []string, files []plan.File) (add, remove []string) {
	wanted := map[string]bool{}
	for _, f := range files {
		top, _, _ := strings.Cut(f.Path, string(filepath.Separator))
		if !wanted[top] && !slices.Contains(there, top) {
			add = append(add, top)
		}
		wanted[top] = true
	}
	for _, name := range there {
		if !wanted[name] {
			remove = append(remove, name)
		}
	}
	return add, remove
}

// chowner changes a file's owner where an id is given.
type chowner func(path string, uid, gid *int64) error

// chownMapped changes the owner where the user namespace has the id. Where it
// does not (a sandbox without root maps one user), every process runs as the one
// user that also owns the file, so nothing is lost.
func chownMapped(path string, uid, gid *int64) error {
	id := func(p *int64) int {
		if p == nil {
			return -1
		}
		return int(*p)
	}
	if uid == nil && gid == nil {
		return nil
	}
	err := os.Lchown(path, id(uid), id(gid))
	if err != nil && !errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("change the owner: %w", err)
	}
	return nil
}
