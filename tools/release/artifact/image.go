package artifact

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	registry   = "quay.io/open-cluster-management/"
	repository = "https://github.com/open-cluster-management-io/helloworld-addon"
	// user is what Kubernetes' own distroless images run as.
	user       = "65532:65532"
	searchPath = "/usr/local/bin"
)

// labels are those of the Dockerfile's image.
func (i image) labels(version, commit string) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       i.name,
		"org.opencontainers.image.description": i.description,
		"org.opencontainers.image.source":      repository,
		"org.opencontainers.image.licenses":    license,
		"org.opencontainers.image.version":     version,
		"org.opencontainers.image.revision":    commit,
	}
}

// writeImage writes an archive of the image for all architectures, in the layout
// of https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md.
// The programs are in a directory of work for each architecture.
func (o Options) writeImage(w io.Writer, i image, work string) (err error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range architectures {
		img, err := o.imageFor(i, arch, filepath.Join(work, arch))
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        img,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	dir, err := os.MkdirTemp("", "release-image-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	// Docker and containerd read the name, other tools the tag.
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"io.containerd.image.name":          registry + i.name + ":" + o.Version,
		"org.opencontainers.image.ref.name": o.Version,
	})); err != nil {
		return err
	}
	files, err := filesBelow(dir, "")
	if err != nil {
		return err
	}
	return writeTar(w, files, o.Date)
}

// imageFor returns the image for one architecture, with programs of the
// directory bin.
func (o Options) imageFor(i image, arch, bin string) (v1.Image, error) {
	files, err := filesBelow(bin, "usr/local/bin")
	if err != nil {
		return nil, err
	}
	if len(i.programs) > 0 {
		files = slices.DeleteFunc(files, func(f file) bool { return !slices.Contains(i.programs, filepath.Base(f.name)) })
	}
	for _, dir := range []string{"usr", "usr/local", "usr/local/bin"} {
		files = append(files, file{name: dir, mode: 0o755})
	}
	var content bytes.Buffer
	if err := writeTar(&content, files, o.Date); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: o.Date}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err = mutate.ConfigFile(img, &v1.ConfigFile{
		OS: "linux", Architecture: arch, Created: created, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User: user, Env: []string{"PATH=" + searchPath}, Entrypoint: i.entrypoint, Labels: i.labels(o.Version, o.Commit),
		},
	})
	if err != nil {
		return nil, err
	}
	return mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{Created: created, CreatedBy: "make release"}})
}
