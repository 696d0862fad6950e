package ocm

import (
	"context"
	"fmt"
	"strings"
)

// Version is the release of OCM that is installed: that of the module.
const Version = "v1.2.1"

// Images say where OCM's images come from.
type Images struct {
	// Registry is the part of the names before the last slash.
	Registry string
	// Tag is that of all of them.
	Tag string
}

// published are the images that the project publishes.
var published = Images{Registry: "quay.io/open-cluster-management", Tag: Version}

// built are images that are built here from the module's programs. Their names
// name no registry that exists, so that they cannot be confused with the published
// ones.
var built = Images{Registry: "kind.local/open-cluster-management", Tag: Version}

// image is one of OCM's, and the program that it runs.
type image struct{ name, program string }

var (
	// operator is the one image that managed clusters need: the klusterlet's agent
	// in singleton mode is a command of it.
	operator     = image{name: "registration-operator", program: "registration-operator"}
	registration = image{name: "registration", program: "registration"}
	work         = image{name: "work", program: "work"}
)

// hubImages are what a hub needs.
var hubImages = []image{
	operator,
	registration,
	work,
	{name: "placement", program: "placement"},
	{name: "addon-manager", program: "addon"},
}

func (i Images) ref(of image) string { return i.Registry + "/" + of.name + ":" + i.Tag }

// Hub are the names of the images that a hub needs.
func (i Images) Hub() []string {
	var refs []string
	for _, of := range hubImages {
		refs = append(refs, i.ref(of))
	}
	return refs
}

// Managed are the names of the images that a managed cluster needs.
func (i Images) Managed() []string { return []string{i.ref(operator)} }

// Hosting are the names of the images that a cluster needs on which another one's
// agents run, beside those of Managed.
func (i Images) Hosting() []string { return []string{i.ref(registration), i.ref(work)} }

func (i Images) values() map[string]any {
	return map[string]any{"registry": i.Registry, "tag": i.Tag}
}

// Source says where images are taken from.
type Source string

// The sources.
const (
	// SourcePublished pulls the published images.
	SourcePublished Source = "published"
	// SourceBuilt builds images from the pinned Go modules.
	SourceBuilt Source = "built"
	// SourceAuto is SourcePublished where the registry answers, else SourceBuilt.
	SourceAuto Source = "auto"
)

// ParseSource reads a source's name.
func ParseSource(text string) (Source, error) {
	switch source := Source(text); source {
	case SourcePublished, SourceBuilt, SourceAuto:
		return source, nil
	}
	return "", fmt.Errorf("--images=%q: give %s, %s or %s", text, SourceAuto, SourcePublished, SourceBuilt)
}

// Provide makes Docker have the images, and says which they are.
func (b *Builder) Provide(ctx context.Context, source Source) (Images, error) {
	if source == SourceBuilt {
		return built, b.build(ctx)
	}
	err := b.pull(ctx)
	if err == nil {
		return published, nil
	}
	if source == SourcePublished || ctx.Err() != nil {
		return Images{}, err
	}
	b.Progress.Say("OCM's published images cannot be pulled (%s): building them", firstLine(err.Error()))
	return built, b.build(ctx)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
