// Package images is the sandbox's stand-in for an image registry: a file that
// maps an image to a directory laid out like the image's root.
//
// A mapping of a name with a tag or a digest is for that image alone. A mapping of a
// repository is for all its tags and digests. For example:
//
//	mapping                 resolves                            but not
//	example.com/app         every tag, every digest
//	example.com/app:v1      this tag                            example.com/app:v2
//	example.com/app:latest  this tag, and the name without one  example.com/app:v1
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

// Store holds the mappings of one sandbox. It reads the file at every look-up, so it
// finds images that are added while the sandbox runs.
type Store struct{ path string }

// In returns the store of the sandbox's directory.
func In(dir string) Store { return Store{path: filepath.Join(dir, file)} }

// Add maps the image, or every image of the repository, to the directory.
func (s Store) Add(name, dir string) error {
	images, err := s.read()
	if err != nil {
		return err
	}
	images[key(name)] = dir
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

// Resolve returns the directory of an image, empty if it is unknown, and all mapped
// names.
func (s Store) Resolve(image string) (dir string, known []string, err error) {
	images, err := s.read()
	if err != nil {
		return "", nil, err
	}
	exact := key(image)
	if exact == repository(image) {
		exact += ":latest"
	}
	dir, ok := images[exact]
	if !ok {
		dir = images[repository(image)]
	}
	return dir, slices.Sorted(maps.Keys(images)), nil
}

// All returns every mapped name and its directory.
func (s Store) All() (map[string]string, error) { return s.read() }

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

// Matches reports whether an image has the name: a name without a tag and digest is that of all of
// them, one with a tag or digest of that image alone.
func Matches(name, image string) bool {
	return key(image) == key(name) || repository(image) == name
}

// repository returns an image's name without its tag and digest.
func repository(image string) string {
	name, _, _ := strings.Cut(image, "@")
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		name = name[:colon]
	}
	return name
}

// key returns the name under which an image is mapped. As in container runtimes, a
// digest overrides the tag: example.com/app:v1@sha256:01 becomes
// example.com/app@sha256:01.
func key(image string) string {
	if _, digest, ok := strings.Cut(image, "@"); ok {
		return repository(image) + "@" + digest
	}
	return image
}

// Parse parses IMAGE=DIRECTORY and returns the absolute path of the directory.
func Parse(mapping string) (name, dir string, err error) {
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
	return name, dir, nil
}
