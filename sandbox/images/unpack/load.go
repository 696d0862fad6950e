package unpack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"open-cluster-management.io/helloworld-addon/sandbox/images"
)

// Load adds the images of an archive, made by `docker save` or in the layout of OCI, as a
// tar file, compressed or not, or as a directory. It returns their names. Those are the
// archive's unless one is given, for an archive with one image.
func Load(ctx context.Context, store images.Store, file, given string, limits Limits) (names []string, err error) {
	if given != "" {
		if err := CheckName(given); err != nil {
			return nil, err
		}
	}
	staging, err := store.Draft()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, staging.Close()) }()
	if limits, err = limits.within(staging.Root()); err != nil {
		return nil, err
	}
	archive, err := openArchive(ctx, file, staging.Root(), limits)
	if err != nil {
		return nil, fmt.Errorf("open image archive %s: %w", file, err)
	}
	defer archive.Close()
	found, err := imagesOf(archive)
	if err == nil {
		found, err = named(found, given)
	}
	if err == nil {
		names, err = add(ctx, store, found, limits)
	}
	if err != nil {
		return nil, fmt.Errorf("load image archive %s: %w", file, err)
	}
	return names, nil
}

// named returns the images with their names checked. A given name replaces the archive's.
func named(found []image, given string) ([]image, error) {
	if given != "" {
		if len(found) != 1 {
			return nil, fmt.Errorf("it has %d images, so %s cannot be the name of all: load it without a name", len(found), given)
		}
		found[0].names = []string{given}
	}
	for _, f := range found {
		if len(f.names) == 0 {
			return nil, errors.New("it does not name its image: give a name, as in ocm-sandbox image load NAME FILE")
		}
		for _, n := range f.names {
			if err := CheckName(n); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// CheckName returns an error unless a pod can name an image so.
func CheckName(image string) error {
	if _, err := name.ParseReference(image); err != nil {
		return fmt.Errorf("%.200q is not an image's name, for example example.com/app:v1: %w", image, err)
	}
	return nil
}

// add unpacks all images and adds them to the store, or none. It returns their names.
func add(ctx context.Context, store images.Store, found []image, limits Limits) (names []string, err error) {
	added := map[string]images.Image{}
	var drafts []*images.Draft
	defer func() {
		for _, draft := range drafts {
			err = errors.Join(err, draft.Close()) // after AddAll
		}
	}()
	for _, f := range found {
		draft, err := store.Draft()
		if err != nil {
			return nil, err
		}
		drafts = append(drafts, draft)
		if err := f.unpack(ctx, draft.Root(), limits); err != nil {
			return nil, fmt.Errorf("image %s: %w", strings.Join(f.names, ", "), err)
		}
		for _, n := range f.names {
			added[n] = images.Image{Dir: draft.Root(), Config: configOf(f.config.Config)}
		}
	}
	return slices.Sorted(maps.Keys(added)), store.AddAll(added)
}

// unpack applies the image's layers to an empty directory.
func (i image) unpack(ctx context.Context, dir string, limits Limits) error {
	if got := i.config.OS + "/" + i.config.Architecture; i.config.OS != "" && i.config.Architecture != "" && got != platform() {
		return fmt.Errorf("it is for %s, and this machine runs %s", got, platform())
	}
	if got, want := len(i.layers), len(i.config.RootFS.DiffIDs); got != want {
		return fmt.Errorf("it has %d layers, and its configuration names %d", got, want)
	}
	t, err := newTree(dir, limits)
	if err != nil {
		return err
	}
	defer t.root.Close()
	stream := &budget{limits: limits}
	for n, open := range i.layers {
		if err := t.applyVerified(ctx, open, i.config.RootFS.DiffIDs[n], stream); err != nil {
			return fmt.Errorf("layer %d of %d: %w", n+1, len(i.layers), err)
		}
	}
	return t.finish()
}

// applyVerified applies a layer, and returns an error unless its content has the digest.
func (t *tree) applyVerified(ctx context.Context, open func() (io.ReadCloser, error), digest v1.Hash, stream *budget) error {
	file, err := open()
	if err != nil {
		return err
	}
	defer file.Close()
	plain, err := decompress(file)
	if err != nil {
		return fmt.Errorf("decompress it: %w", err)
	}
	defer plain.Close()
	hash := sha256.New()
	content := io.TeeReader(reader{ctx, plain, stream}, hash)
	if err := t.apply(ctx, content); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		return fmt.Errorf("read it to its end: %w", err)
	}
	if got := "sha256:" + hex.EncodeToString(hash.Sum(nil)); got != digest.String() {
		return fmt.Errorf("its content has the digest %s instead of %s: it is damaged", got, digest)
	}
	return nil
}

// configOf returns the part of a configuration that containers need.
func configOf(c v1.Config) images.Config {
	config := images.Config{Entrypoint: c.Entrypoint, Cmd: c.Cmd, User: c.User}
	for _, variable := range c.Env {
		if name, _, ok := strings.Cut(variable, "="); ok && name != "" {
			config.Env = append(config.Env, variable)
		}
	}
	if c.WorkingDir != "" {
		config.WorkingDir = path.Join("/", c.WorkingDir)
	}
	return config
}
