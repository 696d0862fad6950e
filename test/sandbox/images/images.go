// Package images is the sandbox's stand-in for an image registry: a file that
// maps an image's repository to a directory laid out like the image's root.
//
// A tag or a digest says nothing here: what is in the directory is what runs.
package images

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const file = "images.json"

// Store is the map of one sandbox. It reads the file at every look-up, so that
// an image added while the sandbox runs is found.
type Store struct{ path string }

// In returns the store of the sandbox's directory.
func In(dir string) Store { return Store{path: filepath.Join(dir, file)} }

// Add maps the repository to the directory.
func (s Store) Add(repository, dir string) error {
	images, err := s.read()
	if err != nil {
		return err
	}
	images[repository] = dir
	content, err := json.MarshalIndent(images, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the images: %w", err)
	}
	temporary := s.path + ".new"
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		return fmt.Errorf("write the images: %w", err)
	}
	if err := os.Rename(temporary, s.path); err != nil {
		return fmt.Errorf("write the images: %w", err)
	}
	return nil
}

// Resolve returns the directory of an image, and the repositories that are
// known when the image's is not.
func (s Store) Resolve(image string) (dir string, known []string, err error) {
	images, err := s.read()
	if err != nil {
		return "", nil, err
	}
	return images[Repository(image)], slices.Sorted(maps.Keys(images)), nil
}

func (s Store) read() (map[string]string, error) {
	images := map[string]string{}
	content, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return images, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the images: %w", err)
	}
	if err := json.Unmarshal(content, &images); err != nil {
		return nil, fmt.Errorf("parse %s: %w", s.path, err)
	}
	return images, nil
}

// Repository is an image's name without its tag and digest.
func Repository(image string) string {
	name, _, _ := strings.Cut(image, "@")
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		name = name[:colon]
	}
	return name
}

// Parse reads REPOSITORY=DIRECTORY and makes the directory absolute.
func Parse(mapping string) (repository, dir string, err error) {
	name, dir, ok := strings.Cut(mapping, "=")
	if !ok || name == "" || dir == "" {
		return "", "", fmt.Errorf("%q is not IMAGE=DIRECTORY", mapping)
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", "", fmt.Errorf("directory of the image %s: %w", name, err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", "", fmt.Errorf("%s, the root of the image %s, is not a directory: build it first", dir, name)
	}
	return Repository(name), dir, nil
}
