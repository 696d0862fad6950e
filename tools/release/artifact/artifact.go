// Package artifact builds the files of a release. Two runs for the same commit
// with the same Go version write the same bytes: files are stored in the order
// of their names, and the commit's date is the only time in them.
package artifact

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"open-cluster-management.io/helloworld-addon/tools/release/krew"
)

// Sums is the file with the checksum of every other one.
const Sums = "SHA256SUMS"

// Options are what a release is made of.
type Options struct {
	Source  string    // the repository
	Out     string    // a directory that does not exist yet
	Version string    // such as v0.1.0
	Commit  string    // the commit that is checked out in Source
	Date    time.Time // of the commit
	Log     io.Writer // one line for each file

	products []product // in tests, others
}

// architectures that everything is built for.
var architectures = []string{"amd64", "arm64"}

// A product is released with programs, images and an SBOM of its own.
type product struct {
	name   string
	module string // the directory of its Go module
	images []image
	plugin *krew.Plugin // of kubectl; its program is one of the module's
}

// An image has programs of its product and nothing else. The Dockerfiles build
// the same, which a test checks.
type image struct {
	name        string
	description string
	programs    []string // all of the product when empty
	entrypoint  []string
}

var ours = []product{
	{
		name: "helloworld-addon", module: ".",
		images: []image{
			{
				name:        "helloworld-addon",
				description: "An add-on for Open Cluster Management that copies ConfigMaps from the hub to managed clusters",
				programs: []string{
					"helloworld-agent", "helloworld-controller", "helloworld-replicaset-controller", "klusterlet-addon-lease-controller",
				},
			},
			{
				name:        "helloworld-addon-agent",
				description: "What managed clusters run of helloworld-addon: the agent and the lease sidecar",
				programs:    []string{"helloworld-agent", "klusterlet-addon-lease-controller"},
			},
		},
		plugin: &krew.Plugin{
			Name:  "helloworld",
			Short: "See the helloworld add-on on all clusters of a hub",
			Description: "Shows how the helloworld add-on of Open Cluster Management is on every\n" +
				"cluster of a hub, the worst first, tells why something is wrong and what to\n" +
				"do, and controls the rollout of ConfigMapReplicaSets.\n",
			Homepage: repository,
			Caveats: "The kubeconfig's context has to name the hub, not a managed cluster.\n" +
				"The plugin has no rights but yours.\n",
		},
	},
	{
		name: "hub-of-hubs-status-sync", module: "hub-of-hubs-status-sync",
		images: []image{{
			name:        "hub-of-hubs-status-sync",
			description: "Syncs the status of a hub of hubs from PostgreSQL to custom resources",
			entrypoint:  []string{"hub-of-hubs-status-sync"},
		}},
	},
}

// Build writes the release to the directory Out.
func Build(ctx context.Context, o Options) (err error) {
	if err := os.MkdirAll(filepath.Dir(o.Out), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(o.Out, 0o755); err != nil {
		return fmt.Errorf("create the release's directory, which must not exist: %w", err)
	}
	work, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if o.products == nil {
		o.products = ours
	}
	o.Date = o.Date.UTC() // some formats store the time zone
	for _, p := range o.products {
		if err := o.product(ctx, p, filepath.Join(work, p.name)); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if err := o.chart(filepath.Join(o.Source, "deploy/chart/helloworld-addon")); err != nil {
		return fmt.Errorf("the Helm chart: %w", err)
	}
	return o.sums()
}

// product builds the programs into work and writes what is made of them.
func (o Options) product(ctx context.Context, p product, work string) error {
	for _, arch := range architectures {
		base := fmt.Sprintf("%s-%s-linux-%s", p.name, o.Version, arch)
		b := programs{
			product: p.name, module: p.module, packages: "./cmd/...", os: "linux", arch: arch, bin: filepath.Join(work, arch), base: base, top: base,
		}
		if _, err := o.archive(ctx, b); err != nil {
			return err
		}
	}
	for _, i := range p.images {
		name := fmt.Sprintf("%s-%s.oci.tar", i.name, o.Version)
		if err := o.create(name, func(w io.Writer) error { return o.writeImage(w, i, work) }); err != nil {
			return fmt.Errorf("image %s: %w", i.name, err)
		}
	}
	if p.plugin == nil {
		return nil
	}
	if err := o.plugin(ctx, p, filepath.Join(work, "plugin")); err != nil {
		return fmt.Errorf("kubectl plugin %s: %w", p.plugin.Name, err)
	}
	return nil
}

// archive builds programs, and writes their archive and SBOM. It returns the
// archive's name.
func (o Options) archive(ctx context.Context, p programs) (name string, err error) {
	if err := o.build(ctx, p); err != nil {
		return "", err
	}
	files, err := filesBelow(p.bin, p.top)
	if err != nil {
		return "", err
	}
	files = append(files, file{name: path.Join(p.top, "LICENSE"), path: filepath.Join(o.Source, "LICENSE"), mode: 0o644})
	name, write := p.base+".tar.gz", writeTarball
	if p.os == "windows" {
		name, write = p.base+".zip", writeZip
	}
	if err := o.create(name, func(w io.Writer) error { return write(w, files, o.Date) }); err != nil {
		return "", err
	}
	return name, o.create(p.base+".cdx.json", func(w io.Writer) error { return o.writeSBOM(ctx, w, p) })
}

// create writes one of the release's files.
func (o Options) create(name string, write func(w io.Writer) error) (err error) {
	fmt.Fprintln(o.Log, name)
	f, err := os.Create(filepath.Join(o.Out, name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return write(f)
}

// sums writes the checksums as sha256sum --check reads them.
func (o Options) sums() error {
	files, err := filesBelow(o.Out, "")
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, f := range files {
		sum, err := digest(f.path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sum, f.name)
	}
	return o.create(Sums, func(w io.Writer) error {
		_, err := io.WriteString(w, text.String())
		return err
	})
}

func digest(path string) (sum []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return h.Sum(nil), err
}
