package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/modfile"
)

// Versions are those of OCM and Kubernetes, for example v1.0.0 and v1.33.9; empty means the pinned one. A program of
// another version is built as its own project builds it: with the dependencies that its module requires.
type Versions struct{ OCM, Kubernetes string }

// The modules whose version can be chosen, and etcd's.
const (
	ocmModule        = "open-cluster-management.io/ocm"
	kubernetesModule = "k8s.io/kubernetes"
	etcdModule       = "go.etcd.io/etcd/server/v3"
)

// Names returns what is chosen, for example OCM v1.0.0.
func (v Versions) Names() []string {
	var names []string
	if v.OCM != "" {
		names = append(names, "OCM "+v.OCM)
	}
	if v.Kubernetes != "" {
		names = append(names, "Kubernetes "+v.Kubernetes)
	}
	return names
}

// version returns that of a module, empty for the pinned one.
func (v Versions) version(module string) string {
	return map[string]string{ocmModule: v.OCM, kubernetesModule: v.Kubernetes}[module]
}

// release matches the version of a release.
var release = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// validate returns an error that joins every problem.
func (v Versions) validate(options Options) error {
	var problems []error
	for _, given := range []struct{ flag, version string }{{"--ocm-version", v.OCM}, {"--kubernetes-version", v.Kubernetes}} {
		switch {
		case given.version == "":
		case !release.MatchString(given.version):
			problems = append(problems, fmt.Errorf("%s=%s: give a version such as v1.2.1", given.flag, given.version))
		case options.Module != "" || options.Out != "":
			problems = append(problems, fmt.Errorf("%s=%s: leave --module and --programs out, which determine the versions", given.flag, given.version))
		}
	}
	if options.Fleet && v.OCM != "" {
		problems = append(problems, fmt.Errorf("--ocm-version=%s: a fleet has the agents of the pinned version", v.OCM))
	}
	return errors.Join(problems...)
}

// moduleOf returns the directory of the module in which the package is built, and go's further flags there.
func (b *builder) moduleOf(pkg string) (dir string, flags []string) {
	for _, module := range []string{ocmModule, kubernetesModule} {
		if strings.HasPrefix(pkg+"/", module+"/") && b.Versions.version(module) != "" {
			return b.derivedDir(module), []string{"-mod=mod"}
		}
	}
	return b.Module, nil
}

func (b *builder) derivedDir(module string) string {
	return b.Module + "-" + filepath.Base(module)
}

// deriveModules writes a module for each version that is not the pinned one.
func (b *builder) deriveModules(ctx context.Context) error {
	for _, module := range []string{ocmModule, kubernetesModule} {
		version := b.Versions.version(module)
		if version == "" {
			continue
		}
		if err := b.deriveModule(ctx, module, version); err != nil {
			return fmt.Errorf("prepare %s %s: %w", module, version, err)
		}
	}
	return nil
}

func (b *builder) deriveModule(ctx context.Context, module, version string) error {
	found, err := b.download(ctx, b.Module, module+"@"+version)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(found.GoMod)
	if err != nil {
		return fmt.Errorf("read its go.mod: %w", err)
	}
	derived, err := derive(module, version, content)
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(found.Dir, "go.sum"))
	if err != nil {
		return fmt.Errorf("read its go.sum: %w", err)
	}
	dir := b.derivedDir(module)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create its directory: %w", err)
	}
	for name, content := range map[string][]byte{"go.mod": derived, "go.sum": sums} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return fmt.Errorf("write its module: %w", err)
		}
	}
	return nil
}

// derive returns the go.mod of a module that builds programs of another one as that builds them itself. So it has
// its replacements. Kubernetes replaces its libraries by directories of its repository, which it publishes as
// modules: v0.34.4 of them belongs to Kubernetes v1.34.4.
func derive(module, version string, goMod []byte) ([]byte, error) {
	source, err := modfile.Parse("go.mod", goMod, nil)
	if err != nil {
		return nil, err
	}
	derived := new(modfile.File)
	err = errors.Join(derived.AddModuleStmt("programs"), derived.AddRequire(module, version))
	if source.Go != nil {
		err = errors.Join(err, derived.AddGoStmt(source.Go.Version))
	}
	for _, replace := range source.Replace {
		path, to := replace.New.Path, replace.New.Version
		if strings.HasPrefix(path, "./staging/") {
			path, to = replace.Old.Path, "v0."+strings.TrimPrefix(version, "v1.")
		}
		err = errors.Join(err, derived.AddReplace(replace.Old.Path, replace.Old.Version, path, to))
	}
	if err != nil {
		return nil, err
	}
	return derived.Format()
}
