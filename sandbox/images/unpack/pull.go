package unpack

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"open-cluster-management.io/helloworld-addon/sandbox/images"
)

// pullTimeout limits a pull, with all of its layers.
const pullTimeout = 30 * time.Minute

// Pull adds an image of a registry, for this machine's architecture, and returns its name:
// without a tag or digest it is the tag latest. Credentials are those of Docker's
// configuration. A registry on this machine, at a private IPv4 address or under .local may be one without TLS.
func Pull(ctx context.Context, store images.Store, image string, limits Limits) (string, error) {
	ref, err := name.ParseReference(image)
	if err != nil {
		return "", CheckName(image)
	}
	ctx, cancel := context.WithTimeout(ctx, pullTimeout)
	defer cancel()
	if err := pull(ctx, store, ref, withTag(image, ref), limits); err != nil {
		return "", fmt.Errorf("pull image %s: %w", image, err)
	}
	return withTag(image, ref), nil
}

// withTag returns the name with the tag latest if it has neither tag nor digest.
func withTag(image string, ref name.Reference) string {
	if tag, ok := ref.(name.Tag); ok && !strings.HasSuffix(image, ":"+tag.TagStr()) {
		return image + ":" + tag.TagStr()
	}
	return image
}

func pull(ctx context.Context, store images.Store, ref name.Reference, as string, limits Limits) error {
	found, err := remote.Image(ref, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain),
		remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}))
	if err != nil {
		return err
	}
	config, err := found.ConfigFile()
	if err != nil {
		return fmt.Errorf("read its configuration: %w", err)
	}
	layers, err := found.Layers()
	if err != nil {
		return fmt.Errorf("read its manifest: %w", err)
	}
	pulled := image{names: []string{as}, config: config}
	for _, layer := range layers {
		pulled.layers = append(pulled.layers, func() (io.ReadCloser, error) { return layer.Compressed() })
	}
	if limits, err = limits.within(store.Dir()); err != nil {
		return err
	}
	_, err = add(ctx, store, []image{pulled}, limits)
	return err
}
