package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

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
func writePayload(dir string, files []file, chown chowner) error {
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

func writeFiles(data string, files []file, chown chowner) error {
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
func link(dir string, files []file) error {
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
func linkPlan(there []string, files []file) (add, remove []string) {
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
