package artifact

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Kubernetes' libraries report these as the program's version.
const versionPackage = "k8s.io/component-base/version"

// programs are built for one platform and released in one archive.
type programs struct {
	product  string
	module   string // the directory of the Go module, below the source
	packages string // a pattern of the go command
	os, arch string
	bin      string // the directory to build them into
	base     string // the archive's name, without its extension
	top      string // the archive's directory with all files, or empty
}

// build builds the programs. It ignores the settings that change the result: the
// caller's Go flags and workspace, and the state of the checkout, which -buildvcs
// would record.
func (o Options) build(ctx context.Context, p programs) error {
	if err := os.MkdirAll(p.bin, 0o755); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly",
		"-ldflags", fmt.Sprintf("-s -w -X %[1]s.gitVersion=%[2]s -X %[1]s.gitCommit=%[3]s", versionPackage, o.Version, o.Commit),
		"-o", p.bin+string(filepath.Separator), p.packages)
	cmd.Dir = filepath.Join(o.Source, p.module)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s for %s/%s: %w\n%s", p.packages, p.os, p.arch, err, output)
	}
	return nil
}
