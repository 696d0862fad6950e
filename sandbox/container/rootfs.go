package container

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	securejoin "github.com/cyphar/filepath-securejoin"
	"golang.org/x/sys/unix"
)

// buildRoot mounts the container's root at spec.Root, complete with all mounts.
func buildRoot(spec Spec, address string) error {
	if err := isDirectory("image", spec.Image); err != nil {
		return err
	}
	if err := isDirectory("root", spec.Root); err != nil {
		return err
	}
	// What is mounted here is nobody else's business.
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
	if err := mountKernelFiles(spec.Root); err != nil {
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

// enterRoot makes a mounted directory the root of the mount namespace and lets
// go of the old root.
func enterRoot(root string) error {
	if err := unix.Chdir(root); err != nil {
		return fmt.Errorf("enter the root directory: %w", err)
	}
	// With both names the same the old root lies on top of the new one, so no
	// directory is needed to put it in.
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

// openDirectories are the directories of the image, links resolved, in which
// something has to be made: they cannot be the image's own.
func openDirectories(spec Spec, files []etcFile) (map[string]bool, error) {
	var made []string
	targets := []string{spec.Dir}
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

// mountPoint makes an empty directory or file where nothing is.
func mountPoint(target string, dir bool) error {
	info, err := os.Stat(target)
	switch {
	case err == nil && info.IsDir() != dir:
		return fmt.Errorf("one of the source and what is there is a directory, the other is not")
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("look at the mount point: %w", err)
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

// makeWorkingDir makes the working directory where it is missing.
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
		return fmt.Errorf("look at the %s directory: %w", what, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s directory %s is not a directory", what, dir)
	}
	return nil
}
