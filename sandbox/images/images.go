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
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Unknown ends the first clause of every message about an image that the sandbox does not have. Those who read the message of a
// container that waits for its image look for it.
const Unknown = "is not known to the sandbox"

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

// Matches reports whether an image has the name: a name without a tag and digest is that of all of
// them, one with a tag or digest of that image alone.
func Matches(name, image string) bool {
	return key(image) == key(name) || repository(image) == familiar(name)
}

// Maps reports whether one of the mapped names has the image. An image without a tag and digest stands for all of them.
func Maps(known []string, image string) bool {
	return slices.ContainsFunc(known, func(name string) bool { return Matches(name, image) || Matches(image, name) })
}

// Similar returns the known name that an unknown image most likely means, empty if there is none: one of the same repository,
// for example app:v1 for app:v2, or else one with the same last element, for example example.com/app for quay.io/org/app.
func Similar(known []string, image string) string {
	last := func(name string) string { return path.Base(repository(name)) }
	for _, part := range []func(string) string{repository, last} {
		i := slices.IndexFunc(known, func(name string) bool { return part(name) == part(image) })
		if i >= 0 {
			return known[i]
		}
	}
	return ""
}

// repository returns an image's name without its tag and digest.
func repository(image string) string {
	name, _, _ := strings.Cut(familiar(image), "@")
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
	return familiar(image)
}

// familiar returns the short form of a name on Docker Hub, which is the default registry.
// For example, docker.io/library/app:v1 becomes app:v1.
func familiar(image string) string {
	short, ok := strings.CutPrefix(image, "docker.io/")
	if !ok {
		return image
	}
	if name := strings.TrimPrefix(short, "library/"); !strings.Contains(name, "/") {
		return name
	}
	return short
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
