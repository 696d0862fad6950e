package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// buildTimeout limits the build of a Go program.
const buildTimeout = 10 * time.Minute

// ImageSource is where the files of an image come from: Dir or GoMain.
type ImageSource interface {
	// check returns an error if the image cannot be made.
	check(ctx context.Context) error
	// add gives the sandbox the image.
	add(ctx context.Context, s *Sandbox, ref string) error
}

type image struct {
	ref    string
	source ImageSource
}

// Dir is an image's root file system in a directory. A relative path is relative to the directory of the
// test's package. Files that change there change in new containers.
func Dir(path string) ImageSource { return dirSource(path) }

type dirSource string

func (d dirSource) check(context.Context) error {
	info, err := os.Stat(string(d))
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a directory")
	}
	if err != nil {
		return fmt.Errorf("Dir(%q): %w", string(d), err)
	}
	return nil
}

func (d dirSource) add(ctx context.Context, s *Sandbox, ref string) error {
	return s.mapImage(ctx, ref, string(d))
}

// GoMain is an image of a Go program that is built by the go command, statically linked. The package is a
// directory such as ../cmd/agent, relative to that of the test's package, or an import path. For a
// package whose path ends in agent, the program is /agent in the image, and agent in its PATH.
func GoMain(pkg string) ImageSource { return goSource(pkg) }

type goSource string

func (g goSource) check(ctx context.Context) error {
	_, err := g.build(ctx, os.DevNull)
	return err
}

func (g goSource) add(ctx context.Context, s *Sandbox, ref string) error {
	root := filepath.Join(s.dir, "go-images", url.PathEscape(ref))
	bin := filepath.Join(root, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return fmt.Errorf("create the image's directory: %w", err)
	}
	name, err := g.build(ctx, bin+string(filepath.Separator))
	if err != nil {
		return err
	}
	if err := os.Symlink("bin/"+name, filepath.Join(root, name)); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create a link to the program: %w", err)
	}
	return s.mapImage(ctx, ref, root)
}

// build builds the program to a file, or into a directory, and returns its name.
func (g goSource) build(ctx context.Context, to string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	found, err := goCommand(ctx, "", "list", "-f", "{{.Name}} {{.Target}}", string(g))
	if err != nil {
		return "", fmt.Errorf("GoMain(%q): %w", string(g), err)
	}
	kind, target, _ := strings.Cut(found, " ")
	if kind != "main" {
		return "", fmt.Errorf("GoMain(%q): it is the package %s, not a program (package main)", string(g), kind)
	}
	if _, err := goCommand(ctx, "", "build", "-trimpath", "-o", to, string(g)); err != nil {
		return "", fmt.Errorf("GoMain(%q): %w", string(g), err)
	}
	return filepath.Base(target), nil
}

// mapImage maps an image to a directory.
func (s *Sandbox) mapImage(ctx context.Context, ref, dir string) error {
	_, err := s.run(ctx, "image", ref+"="+dir)
	return err
}

// goCommand runs go in the directory, by default the present one, and returns its output. Programs are
// linked statically.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	// an interrupted go ends its compilers and removes its temporary files
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = interruptGrace
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimRight(string(out), "\n"), nil
}
