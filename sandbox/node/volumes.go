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

// The modes of an emptyDir, which every user of the pod may write to, as in kubelet.
// With setgid, new files belong to the pod's fsGroup.
const (
	emptyDirMode      = fs.FileMode(0o777)
	emptyDirGroupMode = fs.FileMode(0o777) | fs.ModeSetgid
)

// volumes holds the volumes of one pod on disk.
type volumes struct {
	dir   string
	chown chowner
	// host is the path of each volume that is a file or directory of the machine, by name.
	host map[string]string
	// written is the content of the volumes made of files, by name.
	written map[string][]plan.File
}

func newVolumes(dir string) *volumes {
	return &volumes{dir: dir, chown: chownMapped, host: map[string]string{}, written: map[string][]plan.File{}}
}

func (v *volumes) path(name string) string {
	if path, ok := v.host[name]; ok {
		return path
	}
	return filepath.Join(v.dir, name)
}

// volumeError is the error of a volume's set-up, in kubelet's words.
type volumeError struct {
	Volume string
	Err    error
}

func (e *volumeError) Error() string {
	return fmt.Sprintf("MountVolume.SetUp failed for volume %q : %v", e.Volume, e.Err)
}

func (e *volumeError) Unwrap() error { return e.Err }

// sync writes every volume whose content has changed. It continues after an error
// and returns the first one as a *volumeError.
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
	if _, ok := v.host[volume.Name]; ok {
		return nil
	}
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

// makeEmptyDir creates an emptyDir unless it exists, with the containers' files.
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
		return fmt.Errorf("set the mode of an emptyDir: %w", err)
	}
	return nil
}

// mounts returns the mounts of a container. As in kubelet, a subPath is resolved
// now, so the container keeps the file that was there at its start.
func (v *volumes) mounts(spec *corev1.PodSpec, c corev1.Container, env map[string]string) ([]Mount, error) {
	readOnly := map[string]bool{}
	for _, volume := range spec.Volumes {
		claim := volume.PersistentVolumeClaim
		readOnly[volume.Name] = plan.HasFiles(volume) || claim != nil && claim.ReadOnly
	}
	var out []Mount
	for _, m := range c.VolumeMounts {
		source, err := v.source(m, plan.Expand(m.SubPathExpr, env))
		if err != nil {
			return nil, fmt.Errorf("mount volume %q at %s: %w", m.Name, m.MountPath, err)
		}
		out = append(out, Mount{Source: source, Target: m.MountPath, ReadOnly: m.ReadOnly || readOnly[m.Name]})
	}
	return out, nil
}

// source returns the file or directory on the node for a mount.
func (v *volumes) source(m corev1.VolumeMount, expression string) (string, error) {
	root := v.path(m.Name)
	sub := m.SubPath + expression // at most one is set
	if sub == "" {
		return root, nil
	}
	if !filepath.IsLocal(sub) {
		return "", fmt.Errorf("subPath %q does not stay inside of the volume", sub)
	}
	if err := makeSubPath(root, sub); err != nil {
		return "", err
	}
	resolved, err := filepath.EvalSymlinks(filepath.Join(root, sub))
	if err != nil {
		return "", fmt.Errorf("find subPath %q: %w", sub, err)
	}
	inside, err := filepath.Rel(root, resolved)
	if err != nil || !filepath.IsLocal(inside) {
		return "", fmt.Errorf("subPath %q leads out of the volume", sub)
	}
	return resolved, nil
}

// makeSubPath creates the directory of a subPath that does not exist, and nothing outside of the volume.
func makeSubPath(volume, sub string) error {
	root, err := os.OpenRoot(volume)
	if err != nil {
		return fmt.Errorf("open the volume of subPath %q: %w", sub, err)
	}
	defer func() { _ = root.Close() }()
	switch _, err := root.Lstat(sub); {
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("subPath %q leads out of the volume, or cannot be read: %w", sub, err)
	}
	if err := root.MkdirAll(sub, 0o750); err != nil {
		return fmt.Errorf("create subPath %q: %w", sub, err)
	}
	if err := root.Chmod(sub, emptyDirMode); err != nil {
		return fmt.Errorf("set the mode of subPath %q: %w", sub, err)
	}
	return nil
}

// The names in a volume that are reserved for the writer, as in kubelet:
// https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/volume/util/atomic_writer.go
// dataLink points to the directory with the current files, and every name that the
// pod sees points to a file through it.
const (
	dataLink    = "..data"
	newDataLink = "..data_tmp"
	dataPattern = "..data-*"
)

// writePayload replaces the content of the volume's directory atomically. It writes
// the new files beside the old ones and then renames dataLink, so that every name
// points to a new file. A reader that follows dataLink once sees one version.
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
		// after chown, which may clear bits of the mode
		if err := os.Chmod(path, f.Mode); err != nil {
			return err
		}
	}
	return nil
}

// swap points dataLink to the directory.
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

// link creates the names that the pod sees and removes the obsolete ones.
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
			return fmt.Errorf("remove the link to a removed file: %w", err)
		}
	}
	return nil
}

// linkPlan returns the top-level names to add and to remove.
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

// chowner changes a file's user and group; nil leaves one as it is.
type chowner func(path string, uid, gid *int64) error

// chownMapped changes the owner if the user namespace maps the id. A sandbox without
// root maps one user only: that user owns every file and runs every process, so no
// change is needed.
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
