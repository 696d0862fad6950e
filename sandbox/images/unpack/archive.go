package unpack

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/klauspost/compress/zstd"
)

// maxDocument is the largest size of an index, manifest or configuration in bytes, as in
// registries.
const maxDocument = 4 << 20

// maxWindow is the largest window of zstd in bytes: that of zstd --long.
const maxWindow = 128 << 20

// maxNesting is how deep indexes may be nested. Docker nests two.
const maxNesting = 4

// maxManifests is how many images and indexes for this machine an archive may name.
const maxManifests = 1000

// image is an image in an archive or a registry.
type image struct {
	names  []string
	config *v1.ConfigFile
	// layers open the layers, which may be compressed.
	layers []func() (io.ReadCloser, error)
}

// openArchive returns the content of an archive: a directory, or a tar file, which it
// unpacks to the staging directory.
func openArchive(ctx context.Context, file, staging string, limits Limits) (*os.Root, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return os.OpenRoot(file)
	}
	opened, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	content, err := decompress(opened)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	t, err := newTree(staging, limits)
	if err != nil {
		return nil, err
	}
	if err := t.apply(ctx, reader{ctx, content, &budget{limits: limits}}); err != nil {
		return nil, errors.Join(err, t.root.Close())
	}
	return t.root, nil
}

// imagesOf returns the images of an archive in the format of `docker save` or OCI.
func imagesOf(archive *os.Root) ([]image, error) {
	// Docker writes both since version 25, but names with their tags only in its own.
	if _, err := archive.Stat("manifest.json"); err == nil {
		return dockerImages(archive)
	}
	if _, err := archive.Stat("index.json"); err == nil {
		return layoutImages(archive)
	}
	return nil, errors.New("neither an archive of docker save, which has a manifest.json, nor an OCI layout, which has an index.json")
}

// dockerImages returns the images that manifest.json lists:
// https://github.com/moby/docker-image-spec/blob/v1.3.1/v1.2.md#combined-image-json--filesystem-changeset-format
func dockerImages(archive *os.Root) ([]image, error) {
	content, err := readDocument(archive, "manifest.json")
	if err != nil {
		return nil, err
	}
	var listed []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(content, &listed); err != nil {
		return nil, fmt.Errorf("parse manifest.json: %w", err)
	}
	var found []image
	for _, l := range listed {
		content, err := readDocument(archive, l.Config)
		if err != nil {
			return nil, err
		}
		config, err := v1.ParseConfigFile(bytes.NewReader(content))
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", l.Config, err)
		}
		found = append(found, image{names: l.RepoTags, config: config, layers: openers(archive, l.Layers)})
	}
	return found, nil
}

// layoutImages returns the images for this machine of an OCI layout:
// https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md
func layoutImages(archive *os.Root) ([]image, error) {
	content, err := readDocument(archive, "index.json")
	if err != nil {
		return nil, err
	}
	left := maxManifests
	found, err := indexImages(archive, content, "", 0, &left)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("the archive has no image for %s", platform())
	}
	return found, err
}

func indexImages(archive *os.Root, index []byte, name string, depth int, left *int) ([]image, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("indexes are nested more than %d deep", maxNesting)
	}
	parsed, err := v1.ParseIndexManifest(bytes.NewReader(index))
	if err != nil {
		return nil, fmt.Errorf("parse an index: %w", err)
	}
	var found []image
	for _, d := range parsed.Manifests {
		if d.Platform != nil && d.Platform.OS+"/"+d.Platform.Architecture != platform() {
			continue
		}
		if !d.MediaType.IsIndex() && !d.MediaType.IsImage() {
			continue
		}
		if *left--; *left < 0 {
			return nil, fmt.Errorf("the archive names more than %d images and indexes", maxManifests)
		}
		content, err := readBlob(archive, d.Digest)
		if err != nil {
			return nil, err
		}
		name := nameOf(d.Annotations, name)
		if d.MediaType.IsIndex() {
			nested, err := indexImages(archive, content, name, depth+1, left)
			if err != nil {
				return nil, err
			}
			found = append(found, nested...)
			continue
		}
		one, err := manifestImage(archive, content)
		if err != nil {
			return nil, err
		}
		if name != "" {
			one.names = []string{name}
		}
		found = append(found, one)
	}
	return found, nil
}

func manifestImage(archive *os.Root, manifest []byte) (image, error) {
	parsed, err := v1.ParseManifest(bytes.NewReader(manifest))
	if err != nil {
		return image{}, fmt.Errorf("parse a manifest: %w", err)
	}
	content, err := readBlob(archive, parsed.Config.Digest)
	if err != nil {
		return image{}, err
	}
	config, err := v1.ParseConfigFile(bytes.NewReader(content))
	if err != nil {
		return image{}, fmt.Errorf("parse a configuration: %w", err)
	}
	var layers []string
	for _, layer := range parsed.Layers {
		layers = append(layers, blob(layer.Digest))
	}
	return image{config: config, layers: openers(archive, layers)}, nil
}

// nameOf returns the image's name by the annotations of containerd and Docker, or by OCI's
// unless that is a tag alone.
func nameOf(annotations map[string]string, inherited string) string {
	if name := annotations["io.containerd.image.name"]; name != "" {
		return name
	}
	if name := annotations["org.opencontainers.image.ref.name"]; strings.ContainsAny(name, "/:") {
		return name
	}
	return inherited
}

// platform is that of the images that this machine runs.
func platform() string { return "linux/" + runtime.GOARCH }

func openers(archive *os.Root, files []string) []func() (io.ReadCloser, error) {
	var out []func() (io.ReadCloser, error)
	for _, file := range files {
		out = append(out, func() (io.ReadCloser, error) { return openFile(archive, file) })
	}
	return out
}

// openFile opens a file of the archive. It refuses anything else, for example a FIFO, which
// would block.
func openFile(archive *os.Root, name string) (*os.File, error) {
	info, err := archive.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%q is not a file", name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the archive has no %q: is it complete?", name)
	}
	if err != nil {
		return nil, err
	}
	return archive.Open(name)
}

func readDocument(archive *os.Root, name string) ([]byte, error) {
	file, err := openFile(archive, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxDocument+1))
	if err == nil && len(content) > maxDocument {
		err = fmt.Errorf("it has more than %d bytes", maxDocument)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return content, nil
}

// readBlob reads a document and checks its digest.
func readBlob(archive *os.Root, digest v1.Hash) ([]byte, error) {
	content, err := readDocument(archive, blob(digest))
	if err != nil {
		return nil, err
	}
	if got, _, err := v1.SHA256(bytes.NewReader(content)); err != nil || got != digest {
		return nil, fmt.Errorf("%s has another digest: the archive is damaged", blob(digest))
	}
	return content, nil
}

func blob(digest v1.Hash) string { return path.Join("blobs", digest.Algorithm, digest.Hex) }

// decompress returns the plain content of a file in gzip, zstd or no compression.
func decompress(file io.Reader) (io.ReadCloser, error) {
	buffered := bufio.NewReader(file)
	magic, err := buffered.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return gzip.NewReader(buffered)
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		decoder, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return decoder.IOReadCloser(), nil
	}
	return io.NopCloser(buffered), nil
}
