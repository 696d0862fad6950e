package container

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// imageTree puts an image into a root without writing to the image.
type imageTree struct {
	image, root string
	// open are the directories that are made on the root's own file system.
	open map[string]bool
}

// place puts the content of an image's directory into the same directory of the
// root.
func (t imageTree) place(dir string) error {
	entries, err := os.ReadDir(filepath.Join(t.image, dir))
	if err != nil {
		return fmt.Errorf("list the image's directory: %w", err)
	}
	for _, entry := range entries {
		at := filepath.Join(dir, entry.Name())
		// The container's own are mounted there.
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

// copyDir makes a directory with the mode of another one, and with its owner
// where the user namespace knows that.
func copyDir(entry fs.DirEntry, target string) error {
	info, err := entry.Info()
	if err != nil {
		return fmt.Errorf("look at the image's directory: %w", err)
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
