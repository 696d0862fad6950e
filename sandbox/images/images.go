// Package images is the sandbox's stand-in for an image registry: a file that
// maps an image to a directory laid out like the image's root, and to its configuration.
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
	"os"
	"path/filepath"
	"strings"
)

const file = "images.json"

// Image is the root file system and the configuration of an image.
type Image struct {
	// Dir is a directory laid out like the image's root.
	Dir    string `json:"dir"`
	Config Config `json:"config"`
}

// Config is the part of an image's configuration that a container needs. Its fields have
// the meaning of those of OCI:
// https://github.com/opencontainers/image-spec/blob/v1.1.1/config.md
type Config struct {
	Entrypoint []string `json:"entrypoint,omitempty"`
	Cmd        []string `json:"cmd,omitempty"`
	Env        []string `json:"env,omitempty"`
	WorkingDir string   `json:"workingDir,omitempty"`
	User       string   `json:"user,omitempty"`
}

// directoryUser is the user of a directory that is mapped as an image: "nonroot" in common
// base images.
const directoryUser = "65532:65532"

// Store holds the mappings of one sandbox. It reads the file at every look-up, so it
// finds images that are added while the sandbox runs.
type Store struct{ path string }

// In returns the store of the sandbox's directory.
func In(dir string) Store { return Store{path: filepath.Join(dir, file)} }

// Add maps the image, or every image of the repository, to the directory. Its programs run
// as user 65532 unless the pod sets the user.
func (s Store) Add(name, dir string) error {
	images, err := s.All()
	if err != nil {
		return err
	}
	images[key(name)] = Image{Dir: dir, Config: Config{User: directoryUser}}
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

// Resolve returns an image, and whether it is mapped.
func (s Store) Resolve(name string) (Image, bool, error) {
	images, err := s.All()
	if err != nil {
		return Image{}, false, err
	}
	exact := key(name)
	if exact == repository(name) {
		exact += ":latest"
	}
	image, ok := images[exact]
	if !ok {
		image, ok = images[repository(name)]
	}
	return image, ok, nil
}

// All returns every mapped name and its image.
func (s Store) All() (map[string]Image, error) {
	images := map[string]Image{}
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
