package artifact

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"

	"open-cluster-management.io/helloworld-addon/tools/release/krew"
)

// plugin writes the product's kubectl plugin for every platform that its users
// have, and the manifest by which krew installs it from the published release.
func (o Options) plugin(ctx context.Context, p product, work string) error {
	program := p.plugin.Program()
	var archives []krew.Archive
	for _, os := range []string{"darwin", "linux", "windows"} {
		for _, arch := range architectures {
			name, err := o.archive(ctx, programs{
				product: program, module: p.module, packages: "./cmd/" + program, os: os, arch: arch,
				bin:  filepath.Join(work, os, arch),
				base: fmt.Sprintf("%s-%s-%s-%s", program, o.Version, os, arch),
			})
			if err != nil {
				return err
			}
			sum, err := digest(filepath.Join(o.Out, name))
			if err != nil {
				return err
			}
			archives = append(archives, krew.Archive{Name: name, SHA256: hex.EncodeToString(sum), OS: os, Arch: arch})
		}
	}
	manifest, err := p.plugin.Manifest(o.Version, repository+"/releases/download/"+o.Version, archives)
	if err != nil {
		return err
	}
	return o.create(p.plugin.File(), func(w io.Writer) error {
		_, err := w.Write(manifest)
		return err
	})
}
