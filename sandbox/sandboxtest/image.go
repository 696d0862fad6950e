package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// buildTimeout limits the build of a Go program.
const buildTimeout = 10 * time.Minute

// ImageSource is where the files of an image come from: Dir, GoMain or Archive.
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
	_, err := s.run(ctx, "image", ref+"="+string(d))
	return err
}

// GoMain is an image of a Go program that is built by the go command, statically linked. The package is a
// directory such as ../cmd/agent, relative to that of the test's package, or an import path. For a
// package whose path ends in agent, the program is /agent in the image and agent in its PATH. The image runs
// it as user 65532 unless the pod says otherwise.
func GoMain(pkg string) ImageSource { return goSource(pkg) }

type goSource string

// listFormat lets go list print a file in each directory with files of the program in the main module, and in the last line
// the name of the program's own package.
const listFormat = `{{if .Module}}{{if .Module.Main}}{{.Module.Dir}}/go.mod
{{.Dir}}/.
{{$dir := .Dir}}{{range .EmbedFiles}}{{$dir}}/{{.}}
{{end}}{{end}}{{end}}{{if not .DepOnly}}{{.Name}}{{end}}`

func (g goSource) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	list, err := goCommand(ctx, "", "list", "-deps", "-f", listFormat, string(g))
	lines := strings.Split(list, "\n")
	if kind := lines[len(lines)-1]; err == nil && kind != "main" {
		err = fmt.Errorf("it is the package %s, not a program (package main)", kind)
	}
	if err == nil {
		_, err = goCommand(ctx, "", "build", "-trimpath", "-o", os.DevNull, string(g))
	}
	if err != nil {
		return fmt.Errorf("GoMain(%q): %w", string(g), err)
	}
	track(lines[:len(lines)-1])
	return nil
}

// track lets go test run the tests again, instead of printing a cached result, when the directories of these files have
// changed, or a file in them: it compares those that tests open in their module
// (https://pkg.go.dev/cmd/go#hdr-Test_packages). The program itself is no part of the tests.
func track(files []string) {
	directories := map[string]bool{}
	for _, file := range files {
		directories[filepath.Dir(file)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(directories)) {
		if opened, err := os.Open(name); err == nil {
			_ = opened.Close() // it was only to be opened
		}
	}
}

func (g goSource) add(ctx context.Context, s *Sandbox, ref string) error {
	// pods of earlier runs, in the sandbox of OCM_SANDBOX_USE, must not run the program of before
	_, err := s.run(ctx, "image", "go", "--reload", ref, string(g))
	return err
}

// Archive is an image of an archive made by docker save or in the OCI layout: a tar file, also one in gzip
// or zstd, or a directory. The archive has one image, which gets the name of the option. A relative path is
// relative to the directory of the test's package.
func Archive(path string) ImageSource { return archiveSource(path) }

type archiveSource string

func (a archiveSource) check(context.Context) error {
	if _, err := os.Stat(string(a)); err != nil {
		return fmt.Errorf("Archive(%q): %w", string(a), err)
	}
	return nil
}

func (a archiveSource) add(ctx context.Context, s *Sandbox, ref string) error {
	_, err := s.run(ctx, "image", "load", ref, string(a))
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
