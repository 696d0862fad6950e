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

// programs builds all programs of the module into the directory bin. The build
// ignores the settings that change the result: the caller's Go flags and
// workspace, and the state of the checkout, which -buildvcs would record.
func (o Options) programs(ctx context.Context, module, bin, arch string) error {
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly",
		"-ldflags", fmt.Sprintf("-s -w -X %[1]s.gitVersion=%[2]s -X %[1]s.gitCommit=%[3]s", versionPackage, o.Version, o.Commit),
		"-o", bin+string(filepath.Separator), "./cmd/...")
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs for %s: %w\n%s", arch, err, output)
	}
	return nil
}
