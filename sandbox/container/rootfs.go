package container

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	securejoin "github.com/cyphar/filepath-securejoin"
	"golang.org/x/sys/unix"
)

// buildRoot mounts the container's root at spec.Root, complete with all mounts.
func (o order) buildRoot() error {
	spec, address := o.Spec, o.Address
	if err := isDirectory("image", spec.Image); err != nil {
		return err
	}
	if err := isDirectory("root", spec.Root); err != nil {
		return err
	}
	// Keeps the mounts below invisible to other namespaces.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	if err := mountTmpfs("container-"+spec.ID, spec.Root, 0, "mode=0755"); err != nil {
		return err
	}
	files := etcFiles(spec, address)
	open, err := openDirectories(spec, files)
	if err != nil {
		return err
	}
	tree := imageTree{image: spec.Image, root: spec.Root, open: open}
	if err := tree.place("/"); err != nil {
		return fmt.Errorf("mount image %s: %w", spec.Image, err)
	}
	if err := makeTmp(spec.Root); err != nil {
		return err
	}
	if err := o.mountKernelFiles(); err != nil {
		return err
	}
	if err := writeFiles(spec.Root, files); err != nil {
		return err
	}
	for _, m := range spec.Mounts {
		if err := m.mount(spec.Root); err != nil {
			return err
		}
	}
	if err := makeWorkingDir(spec); err != nil {
		return err
	}
	if spec.ReadOnlyRoot {
		return setReadOnly(spec.Root, 0)
	}
	return nil
}

// enterRoot makes a mounted directory the root of the mount namespace and detaches
// the old root.
func enterRoot(root string) error {
	if err := unix.Chdir(root); err != nil {
		return fmt.Errorf("enter the root directory: %w", err)
	}
	// With "." for both, the old root is mounted over the new one, so it needs no
	// directory (pivot_root(2)).
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot to the root directory (not possible inside a chroot or an initramfs): %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("detach the old root directory: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return fmt.Errorf("enter the root directory: %w", err)
	}
	return nil
}

// makeTmp creates /tmp, which every user may write to, unless the image has one.
func makeTmp(root string) error {
	tmp := filepath.Join(root, "tmp")
	err := os.Mkdir(tmp, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		err = os.Chmod(tmp, 0o777|fs.ModeSticky)
	}
	if err != nil {
		return fmt.Errorf("create /tmp: %w", err)
	}
	return nil
}

// openDirectories returns the directories of the image, with links resolved, in which
// a file or directory must be created. They cannot be the image's own.
func openDirectories(spec Spec, files []etcFile) (map[string]bool, error) {
	var made []string
	targets := []string{spec.Dir, "/tmp/file"} // an image's /tmp that has files is writable, too
	for _, m := range spec.Mounts {
		targets = append(targets, m.Target)
	}
	for _, file := range files {
		targets = append(targets, file.path)
	}
	for _, target := range targets {
		resolved, err := securejoin.SecureJoin(spec.Image, target)
		if err != nil {
			return nil, fmt.Errorf("find %s in image %s: %w", target, spec.Image, err)
		}
		made = append(made, strings.TrimPrefix(resolved, filepath.Clean(spec.Image)))
	}
	return parents(made), nil
}

// mount mounts m in the root that is mounted at root.
func (m Mount) mount(root string) error {
	info, err := os.Stat(m.Source)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("mount %s: source %s does not exist", m.Target, m.Source)
	}
	if err != nil {
		return fmt.Errorf("mount %s: %w", m.Target, err)
	}
	target, err := securejoin.SecureJoin(root, m.Target)
	if err != nil {
		return fmt.Errorf("mount %s: %w", m.Target, err)
	}
	if err := mountPoint(target, info.IsDir()); err != nil {
		return fmt.Errorf("mount %s: %w", m.Target, err)
	}
	if err := bind(m.Source, target, m.ReadOnly); err != nil {
		return fmt.Errorf("mount %s: %w", m.Target, err)
	}
	return nil
}

// mountPoint creates an empty directory or file unless the target exists.
func mountPoint(target string, dir bool) error {
	info, err := os.Stat(target)
	switch {
	case err == nil && info.IsDir() != dir:
		return fmt.Errorf("only one of source and target is a directory")
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("inspect the mount point: %w", err)
	}
	above := target
	if !dir {
		above = filepath.Dir(target)
	}
	if err := os.MkdirAll(above, 0o755); err != nil {
		return fmt.Errorf("create the mount point: %w", err)
	}
	if dir {
		return nil
	}
	return createFile(target)
}

func createFile(target string) error {
	file, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("create the mount point: %w", err)
	}
	return file.Close()
}

// makeWorkingDir creates the working directory unless it exists.
func makeWorkingDir(spec Spec) error {
	dir, err := securejoin.SecureJoin(spec.Root, path.Join("/", spec.Dir))
	if err != nil {
		return fmt.Errorf("find the working directory %s: %w", spec.Dir, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create the working directory %s: %w", spec.Dir, err)
	}
	return nil
}

func isDirectory(what, dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("inspect the %s directory: %w", what, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s directory %s is not a directory", what, dir)
	}
	return nil
}

// imageTree mounts an image into a root without writing to the image.
type imageTree struct {
	image, root string
	// open is the set of directories to create on the root's own file system.
	open map[string]bool
}

// place mounts the content of a directory of the image into the same directory of
// the root.
func (t imageTree) place(dir string) error {
	entries, err := os.ReadDir(filepath.Join(t.image, dir))
	if err != nil {
		return fmt.Errorf("list the image's directory: %w", err)
	}
	for _, entry := range entries {
		at := filepath.Join(dir, entry.Name())
		// The container gets its own.
		if at == "/proc" || at == "/dev" {
			continue
		}
		if err := t.placeEntry(at, entry); err != nil {
			return err
		}
	}
	return nil
}

func (t imageTree) placeEntry(at string, entry fs.DirEntry) error {
	source, target := filepath.Join(t.image, at), filepath.Join(t.root, at)
	switch {
	case entry.Type()&fs.ModeSymlink != 0:
		link, err := os.Readlink(source)
		if err != nil {
			return fmt.Errorf("read the image's link: %w", err)
		}
		return os.Symlink(link, target)
	case !entry.IsDir():
		if err := createFile(target); err != nil {
			return err
		}
		return bind(source, target, true)
	}
	empty, err := isEmpty(source)
	if err != nil {
		return err
	}
	if !empty && !t.open[at] {
		if err := os.Mkdir(target, 0o755); err != nil {
			return fmt.Errorf("create the mount point: %w", err)
		}
		return bind(source, target, true)
	}
	if err := copyDir(entry, target); err != nil {
		return err
	}
	return t.place(at)
}

// copyDir creates a directory with the mode of the entry, and with its owner if the
// user namespace maps it.
func copyDir(entry fs.DirEntry, target string) error {
	info, err := entry.Info()
	if err != nil {
		return fmt.Errorf("inspect the image's directory: %w", err)
	}
	if err := os.Mkdir(target, 0o755); err != nil {
		return err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		err := os.Lchown(target, int(owner.Uid), int(owner.Gid))
		if err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return os.Chmod(target, info.Mode())
}

func isEmpty(dir string) (bool, error) {
	file, err := os.Open(dir)
	if err != nil {
		return false, fmt.Errorf("open the image's directory: %w", err)
	}
	defer file.Close()
	_, err = file.Readdirnames(1)
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("list the image's directory: %w", err)
	}
	return false, nil
}

// noNames is the /etc/resolv.conf by default. Without a name server in it, resolvers
// ask 127.0.0.1, where none listens, and fail at once.
const noNames = "# No name server here.\n"

// etcFile is a file that a container runtime writes into every container.
type etcFile struct{ path, content string }

// etcFiles returns the files of /etc.
func etcFiles(spec Spec, address string) []etcFile {
	names := spec.HostNames
	if len(names) == 0 && spec.Hostname != "" {
		names = []string{spec.Hostname}
	}
	resolv := spec.ResolvConf
	if resolv == "" {
		resolv = noNames
	}
	return []etcFile{
		{"/etc/hosts", hostsFile(names, address, spec.Hosts)},
		{"/etc/hostname", spec.Hostname + "\n"},
		{"/etc/resolv.conf", resolv},
	}
}

// writeFiles replaces the image's files.
func writeFiles(root string, files []etcFile) error {
	for _, file := range files {
		dir, err := securejoin.SecureJoin(root, filepath.Dir(file.path))
		if err != nil {
			return fmt.Errorf("find %s: %w", filepath.Dir(file.path), err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("create %s: %w", filepath.Dir(file.path), err)
		}
		if err := replaceFile(filepath.Join(dir, filepath.Base(file.path)), file.content); err != nil {
			return fmt.Errorf("write %s: %w", file.path, err)
		}
	}
	return nil
}

// replaceFile writes a new file, also over a mounted file of the image.
func replaceFile(target, content string) error {
	if err := unix.Unmount(target, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil &&
		!errors.Is(err, unix.EINVAL) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(target, []byte(content), 0o644)
}

// bind mounts source at target, with all mounts below it. In a user namespace the
// kernel refuses a bind mount that would uncover directories below other mounts
// (mount_namespaces(7)).
func bind(source, target string, readOnly bool) error {
	if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %s: %w", source, err)
	}
	if readOnly {
		return setReadOnly(target, unix.AT_RECURSIVE)
	}
	return nil
}

// setReadOnly makes a mount read-only. It changes this attribute alone, since a
// remount would have to repeat all attributes that a user namespace locks.
func setReadOnly(target string, flags uint) error {
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, target, flags, attr); err != nil {
		return fmt.Errorf("make the mount at %s read-only (mount_setattr, Linux 5.12): %w", target, err)
	}
	return nil
}

func mountTmpfs(name, target string, flags uintptr, options string) error {
	if err := unix.Mount(name, target, "tmpfs", unix.MS_NOSUID|flags, options); err != nil {
		return fmt.Errorf("mount a tmpfs at %s: %w", target, err)
	}
	return nil
}
