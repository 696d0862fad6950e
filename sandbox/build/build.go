// Package build builds the programs that the sandbox runs from their pinned Go
// modules: etcd, Kubernetes and OCM. The first build takes minutes and reports its
// progress. A stamp beside each program then marks it as up to date.
//
// The pins are those of a Go module (sandbox/programs), or the copy of them that the package
// embeds. Programs of the embedded pins are in the user's cache directory.
package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"open-cluster-management.io/helloworld-addon/sandbox/dirlock"
)

// heartbeat is the period of the progress messages of one program's build.
const heartbeat = 20 * time.Second

// Options configures a build.
type Options struct {
	// Module is the directory of the Go module that pins the programs. If it is empty, the
	// embedded pins count.
	Module string
	// Out is the directory that the programs are written to. If it is empty, it is bin/sandbox, and without a Module below
	// the user's cache directory. A given one without a Module is not written to: it has to have the programs.
	Out string
	// Versions are those of the programs, if they differ from the embedded pins.
	Versions Versions
	// Only lists the programs to build; empty means those that every sandbox runs.
	Only []string
	// Fleet adds the program that only a sandbox with a fleet runs.
	Fleet bool
	// Progress receives messages about the program being built.
	Progress io.Writer
}

// program is one to build: its file's name and its package.
type program struct {
	name, pkg string
	// fleet marks a program for fleets. It is part of the module itself, so its sources
	// belong to its fingerprint.
	fleet bool
}

// programs is in the order of building: the large ones first, because the others find
// their packages in Go's cache.
var programs = []program{
	{name: "etcd", pkg: "go.etcd.io/etcd/server/v3"},
	{name: "etcdutl", pkg: "go.etcd.io/etcd/etcdutl/v3"},
	{name: "kube-apiserver", pkg: "k8s.io/kubernetes/cmd/kube-apiserver"},
	{name: "kube-controller-manager", pkg: "k8s.io/kubernetes/cmd/kube-controller-manager"},
	{name: "kube-scheduler", pkg: "k8s.io/kubernetes/cmd/kube-scheduler"},
	{name: "kubectl", pkg: "k8s.io/kubernetes/cmd/kubectl"},
	{name: "registration", pkg: "open-cluster-management.io/ocm/cmd/registration"},
	{name: "work", pkg: "open-cluster-management.io/ocm/cmd/work"},
	{name: "placement", pkg: "open-cluster-management.io/ocm/cmd/placement"},
	{name: "addon", pkg: "open-cluster-management.io/ocm/cmd/addon"},
	{name: FleetProgram, pkg: "./fleet", fleet: true},
}

// FleetProgram runs the simulated clusters of a fleet.
const FleetProgram = "ocm-fleet"

// Manifests is the directory below Out with the manifests of OCM's module.
const Manifests = "ocm-manifests"

// Programs builds the programs that are missing or out of date, and returns their directory.
func Programs(ctx context.Context, options Options) (string, error) {
	if bad := unknown(options.Only); len(bad) > 0 {
		return "", fmt.Errorf("no such program: %s", strings.Join(bad, ", "))
	}
	if err := options.Versions.validate(options); err != nil {
		return "", err
	}
	b := &builder{Options: options, started: time.Now(), embedded: options.Module == "" && options.Out == ""}
	if err := b.resolve(); err != nil {
		return "", err
	}
	if b.Module == "" {
		return b.Out, b.present()
	}
	return b.Out, b.complete(ctx)
}

// present returns an error if the directory lacks a program.
func (b *builder) present() error {
	var missing []string
	for _, p := range append(b.list(), program{name: Manifests}) {
		if _, err := os.Stat(filepath.Join(b.Out, p.name)); err != nil {
			missing = append(missing, p.name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("--programs=%s lacks %s: give --module too, the module to build them from, or neither for those of ocm-sandbox setup",
		b.Out, strings.Join(missing, ", "))
}

// list returns the wanted programs.
func (b *builder) list() []program {
	return slices.DeleteFunc(slices.Clone(programs), func(p program) bool { return !b.wanted(p) })
}

// complete builds what is missing or out of date. Nothing is written, and with the embedded pins not even Go
// is needed, when there is nothing to do.
func (b *builder) complete(ctx context.Context) error {
	if b.embedded {
		b.fingerprint = pinsKey(b.Versions)
	} else if err := b.inspect(ctx); err != nil {
		return err
	}
	if todo, err := b.pending(); err != nil || !todo {
		return err
	}
	if err := os.MkdirAll(b.Out, 0o755); err != nil {
		return fmt.Errorf("create the programs' directory: %w", err)
	}
	unlock, err := dirlock.Lock(ctx, b.Out, func() { b.say("waiting for another process that builds the programs in %s", b.Out) })
	if err != nil {
		return err
	}
	defer unlock()
	// another process may have built them
	if todo, err := b.pending(); err != nil || !todo {
		return err
	}
	if b.embedded {
		if err := b.writeModules(ctx); err != nil {
			return err
		}
	}
	for i, p := range b.list() {
		if err := b.ensure(ctx, p, i+1); err != nil {
			return err
		}
	}
	if len(b.Only) > 0 {
		return nil
	}
	return b.manifests()
}

// writeModules writes the modules in which the programs of the embedded pins are built, and reads them.
func (b *builder) writeModules(ctx context.Context) error {
	// not only after the minutes that the other programs take
	if b.wanted(program{name: FleetProgram, fleet: true}) && Version() == "" {
		return errNoVersion
	}
	if err := writePins(b.Module); err != nil {
		return err
	}
	if err := b.deriveModules(ctx); err != nil {
		return err
	}
	return b.inspect(ctx)
}

// pending reports whether a wanted program, or OCM's manifests, are missing or out of date.
func (b *builder) pending() (bool, error) {
	for _, p := range b.list() {
		fingerprint, err := b.fingerprintOf(p)
		if err != nil || !b.current(p.name, fingerprint) {
			return true, err
		}
	}
	return len(b.Only) == 0 && !b.current(Manifests, b.manifestsFingerprint()), nil
}

// ensure builds the program, the n-th, if it is missing or out of date.
func (b *builder) ensure(ctx context.Context, p program, n int) error {
	fingerprint, err := b.fingerprintOf(p)
	if err != nil || b.current(p.name, fingerprint) {
		return err
	}
	return b.build(ctx, p, n, fingerprint)
}

// unknown returns the names that are not those of a program.
func unknown(names []string) []string {
	var bad []string
	for _, name := range names {
		if !slices.ContainsFunc(programs, func(p program) bool { return p.name == name }) {
			bad = append(bad, name)
		}
	}
	return bad
}

// wanted reports whether the program is to be built.
func (b *builder) wanted(p program) bool {
	if len(b.Only) > 0 {
		return slices.Contains(b.Only, p.name)
	}
	return b.Fleet || !p.fleet
}

type builder struct {
	Options
	started time.Time
	// embedded is true if the embedded pins count, not those of a given module.
	embedded            bool
	kubernetes, ocmDir  string
	flags, fingerprint  string
	announcedFirstBuild bool
}

// resolve sets the directories, as absolute paths, because go runs in the directory Module.
func (b *builder) resolve() (err error) {
	if b.Out, err = directory(b.Module, b.Out, b.Versions); err != nil {
		return err
	}
	if b.embedded {
		b.Module = filepath.Join(b.Out, "module")
	}
	for _, path := range []*string{&b.Module, &b.Out} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return fmt.Errorf("path of the programs: %w", err)
		}
	}
	return nil
}

// inspect reads the versions from the module and, unless the pins are the embedded ones, computes a
// fingerprint of all inputs of the programs.
func (b *builder) inspect(ctx context.Context) (err error) {
	if b.kubernetes, err = b.listModule(ctx, "{{.Version}}", kubernetesModule); err != nil {
		return err
	}
	ocm, _ := b.moduleOf(ocmModule)
	if _, err = b.goIn(ctx, ocm, "mod", "download", ocmModule); err != nil {
		return err
	}
	if b.ocmDir, err = b.listModule(ctx, "{{.Dir}}", ocmModule); err != nil {
		return err
	}
	b.flags = linkFlags(b.kubernetes)
	if b.embedded {
		return nil
	}
	version, err := b.goCommand(ctx, "version")
	if err != nil {
		return err
	}
	hash := sha256.New()
	for _, file := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(b.Module, file))
		if err != nil {
			return fmt.Errorf("read the programs' module: %w", err)
		}
		hash.Write(content)
	}
	_, _ = io.WriteString(hash, version+b.flags)
	b.fingerprint = hex.EncodeToString(hash.Sum(nil))
	return nil
}

// listModule returns what the format of go list tells of a module.
func (b *builder) listModule(ctx context.Context, format, module string) (string, error) {
	dir, flags := b.moduleOf(module)
	return b.goIn(ctx, dir, append([]string{"list", "-m", "-f", format}, append(flags, module)...)...)
}

// fingerprintOf returns a fingerprint of all inputs of the program.
func (b *builder) fingerprintOf(p program) (string, error) {
	if !p.fleet {
		return b.fingerprint, nil
	}
	hash := sha256.New()
	_, _ = io.WriteString(hash, b.fingerprint)
	if b.embedded {
		_, _ = io.WriteString(hash, Version())
		return hex.EncodeToString(hash.Sum(nil)), nil
	}
	sources := os.DirFS(filepath.Join(b.Module, filepath.FromSlash(p.pkg)))
	err := fs.WalkDir(sources, ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == "testdata" {
			return fs.SkipDir
		}
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := fs.ReadFile(sources, path)
		_, _ = fmt.Fprintf(hash, "%s %d\n%s", path, len(content), content)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read the sources of %s: %w", p.name, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// linkFlags returns the flags that set Kubernetes' version in its programs: some clients
// reject an API server with the version v0.0.0.
func linkFlags(version string) string {
	const pkg = "k8s.io/component-base/version"
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	return fmt.Sprintf("-s -w -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s -X %[1]s.gitTreeState=clean",
		pkg, version, major, minor)
}

func (b *builder) stamp(name string) string { return filepath.Join(b.Out, "."+name+".stamp") }

// current reports whether the program exists and its stamp has the fingerprint.
func (b *builder) current(name, fingerprint string) bool {
	content, err := os.ReadFile(b.stamp(name))
	if err != nil || string(content) != fingerprint {
		return false
	}
	_, err = os.Stat(filepath.Join(b.Out, name))
	return err == nil
}

// forget removes the stamp, so that an interrupted build is not taken for a complete one.
func (b *builder) forget(name string) error {
	if err := os.Remove(b.stamp(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the stamp of %s: %w", name, err)
	}
	return nil
}

func (b *builder) build(ctx context.Context, p program, n int, fingerprint string) error {
	if !b.announcedFirstBuild && !p.fleet {
		b.announcedFirstBuild = true
		b.say("building Kubernetes %s, etcd and OCM from their Go modules: once, 6 to 9 minutes on two cores", b.kubernetes)
		b.say("into %s", b.Out)
	}
	b.say("%d/%d %s", n, len(b.list()), p.name)
	started := time.Now()
	if err := b.forget(p.name); err != nil {
		return err
	}
	module, flags := b.moduleOf(p.pkg)
	if p.fleet && b.embedded {
		var err error
		if module, err = b.downloadFleet(ctx); err != nil {
			return fmt.Errorf("build %s: %w", p.name, err)
		}
	}
	done := make(chan struct{})
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		b.beat(done, p.name, started)
	}()
	// under another name until it is complete: a sandbox may run the old program
	unfinished := filepath.Join(b.Out, "."+p.name+".new")
	_, err := b.goIn(ctx, module, append(append([]string{"build"}, flags...), "-trimpath", "-ldflags", b.flags, "-o", unfinished, p.pkg)...)
	close(done)
	<-beating
	if err == nil {
		err = os.Rename(unfinished, filepath.Join(b.Out, p.name))
	}
	if ctx.Err() != nil {
		return fmt.Errorf("build %s: interrupted; the next build goes on here: %w", p.name, ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("build %s: %w", p.name, err)
	}
	if err := os.WriteFile(b.stamp(p.name), []byte(fingerprint), 0o644); err != nil {
		return fmt.Errorf("write the stamp of %s: %w", p.name, err)
	}
	return nil
}

// beat reports the build's duration periodically.
func (b *builder) beat(done <-chan struct{}, name string, started time.Time) {
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			b.say("    %s: %s so far", name, time.Since(started).Round(time.Second))
		}
	}
}

// downloadFleet returns the directory of the published module that has the source of the fleet's program.
func (b *builder) downloadFleet(ctx context.Context) (string, error) {
	// in a directory of no module
	module, err := b.download(ctx, b.Out, queryOf(Version()))
	return module.Dir, err
}

func (b *builder) say(format string, args ...any) {
	_, _ = fmt.Fprintf(b.Progress, "%6s  %s\n", time.Since(b.started).Round(time.Second), fmt.Sprintf(format, args...))
}

// manifestSources are the directories with manifests in OCM's module, by their names below Manifests.
var manifestSources = map[string]string{
	".":                        "manifests",
	"cluster-manager/operator": "deploy/cluster-manager/config/crds",
	"klusterlet/operator":      "deploy/klusterlet/config/crds",
}

func (b *builder) manifestsFingerprint() string { return fmt.Sprint(b.fingerprint, manifestSources) }

// manifests copies OCM's manifests beside its programs.
func (b *builder) manifests() error {
	to := filepath.Join(b.Out, Manifests)
	fingerprint := b.manifestsFingerprint()
	if b.current(Manifests, fingerprint) {
		return nil
	}
	if err := b.forget(Manifests); err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return fmt.Errorf("remove old manifests of OCM: %w", err)
	}
	for name, source := range manifestSources {
		if err := copyYAML(filepath.Join(to, name), os.DirFS(filepath.Join(b.ocmDir, source))); err != nil {
			return fmt.Errorf("copy OCM's manifests: %w", err)
		}
	}
	if err := os.WriteFile(b.stamp(Manifests), []byte(fingerprint), 0o644); err != nil {
		return fmt.Errorf("write the stamp of OCM's manifests: %w", err)
	}
	return nil
}

// copyYAML copies the YAML files of a tree. It omits the Go files among OCM's manifests,
// which the go command would take for a package of this module.
func copyYAML(to string, from fs.FS) error {
	return fs.WalkDir(from, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		content, err := fs.ReadFile(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o644)
	})
}
