package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime/debug"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/anchore/syft/syft/format/common/cyclonedxhelpers"
	"github.com/anchore/syft/syft/pkg"
	"github.com/anchore/syft/syft/pkg/cataloger/golang"
	"github.com/anchore/syft/syft/sbom"
	"github.com/anchore/syft/syft/source"
	"github.com/anchore/syft/syft/source/directorysource"
	"github.com/google/uuid"
)

const (
	syft    = "github.com/anchore/syft"
	license = "Apache-2.0" // of our own modules
)

// writeSBOM writes what the built programs are built from, as
// CycloneDX JSON. Syft finds the modules in the build information of each
// program, and their licenses in the module cache.
func (o Options) writeSBOM(ctx context.Context, w io.Writer, p programs) error {
	src, err := directorysource.New(directorysource.Config{
		Path: p.bin, Base: p.bin, Alias: source.Alias{Name: p.product, Version: o.Version},
	})
	if err != nil {
		return err
	}
	resolver, err := src.FileResolver(source.SquashedScope)
	if err != nil {
		return err
	}
	cache, err := exec.CommandContext(ctx, "go", "env", "GOMODCACHE").Output()
	if err != nil {
		return fmt.Errorf("find the module cache: %w", err)
	}
	config := golang.DefaultCatalogerConfig().WithSearchLocalModCacheLicenses(true).WithLocalModCacheDir(strings.TrimSpace(string(cache)))
	packages, relationships, err := golang.NewGoModuleBinaryCataloger(config).Catalog(ctx, resolver)
	// Stripped programs for darwin and windows lack the symbols by which Syft finds their cryptography. It returns an
	// error then, and all modules: https://github.com/anchore/syft/blob/v1.38.0/syft/pkg/cataloger/golang/scan_binary.go#L44-L52
	if err != nil && p.os == "linux" {
		return err
	}
	if len(packages) == 0 {
		return errors.Join(fmt.Errorf("find the modules of the programs in %s: there are none", p.bin), err)
	}
	bom := cyclonedxhelpers.ToFormatModel(sbom.SBOM{
		Artifacts:     sbom.Artifacts{Packages: pkg.NewCollection(packages...)},
		Relationships: relationships,
		Source:        src.Describe(),
		Descriptor:    sbom.Descriptor{Name: "syft", Version: syftVersion()},
	})
	// Syft takes a random number, the present time and a hash of the directory's path.
	bom.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, []byte(repository+"/releases/"+o.Version+"/"+p.base+"#"+o.Commit)).URN()
	bom.Metadata.Timestamp = o.Date.Format(time.RFC3339)
	bom.Metadata.Component = &cyclonedx.Component{
		BOMRef: p.product + "@" + o.Version, Type: cyclonedx.ComponentTypeApplication, Name: p.product, Version: o.Version,
	}
	o.nameOurs(bom)
	return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
}

// nameOurs gives our own modules the release's version and license: the programs'
// build information has no version for modules that are built in their checkout.
func (o Options) nameOurs(bom *cyclonedx.BOM) {
	for i := range *bom.Components {
		c := &(*bom.Components)[i]
		if c.Type == cyclonedx.ComponentTypeLibrary && c.Version == "" {
			c.Version = o.Version
			c.PackageURL += "@" + o.Version
			c.Licenses = &cyclonedx.Licenses{{License: &cyclonedx.License{ID: license}}}
		}
	}
}

func syftVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, module := range info.Deps {
		if module.Path == syft {
			return module.Version
		}
	}
	return ""
}
