// Command release builds the files that a release of the repository publishes, and
// writes its version to every place that names it. It does not tag, push or
// publish. Use it by make: docs/release.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"open-cluster-management.io/helloworld-addon/tools/release/artifact"
	"open-cluster-management.io/helloworld-addon/tools/release/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		stop()
		os.Exit(1)
	}
}

const usage = `usage: release [flags] check|set|build
  check  reports the places that do not name the version
  set    writes the version to them, and dates the changelog's section Unreleased
  build  builds the release of the commit that is checked out`

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprintln(flags.Output(), usage); flags.PrintDefaults() }
	source := flags.String("source", ".", "the repository")
	name := flags.String("version", "", "the version, such as v0.1.0 (default: of the file "+version.File+")")
	out := flags.String("out", "", "build: the directory to write (default: dist/VERSION below the repository)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r := repository(*source)
	if *name == "" {
		text, err := os.ReadFile(filepath.Join(*source, version.File))
		if err != nil {
			return err
		}
		*name = strings.TrimSpace(string(text))
	}
	if *out == "" {
		*out = filepath.Join(*source, "dist", *name)
	}
	files, err := r.files()
	if err != nil {
		return err
	}
	switch flags.Arg(0) {
	case "check":
		return check(*source, files, *name)
	case "set":
		date, err := r.date(ctx)
		if err != nil {
			return err
		}
		return version.Set(*source, files, *name, date.Format(time.DateOnly))
	case "build":
		return build(ctx, r, files, *name, *out)
	default:
		return errors.New(usage)
	}
}

func check(source string, files []string, name string) error {
	problems, err := version.Check(source, files, name)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return fmt.Errorf("the repository does not name version %s everywhere; make release-prepare VERSION=… changes it:\n  %s",
			name, strings.Join(problems, "\n  "))
	}
	return nil
}

func build(ctx context.Context, r repository, files []string, name, out string) error {
	if err := check(string(r), files, name); err != nil {
		return err
	}
	changed, err := r.git(ctx, "status", "--porcelain", "--untracked-files=normal")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("the checkout differs from its commit; commit or remove:\n%s", changed)
	}
	commit, err := r.git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	date, err := r.date(ctx)
	if err != nil {
		return err
	}
	return artifact.Build(ctx, artifact.Options{
		Source: string(r), Out: out, Version: name, Commit: commit, Date: date, Log: os.Stderr,
	})
}

// repository is the directory of a checkout.
type repository string

// git returns the output of a git command.
func (r repository) git(ctx context.Context, args ...string) (string, error) {
	output, err := exec.CommandContext(ctx, "git", append([]string{"-C", string(r)}, args...)...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(output)), nil
}

// files returns the paths of all files that were not built.
func (r repository) files() (files []string, err error) {
	err = filepath.WalkDir(string(r), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && path != string(r) && (strings.HasPrefix(name, ".") || slices.Contains([]string{"bin", "artifacts", "dist"}, name)) {
			return fs.SkipDir
		}
		if entry.Type().IsRegular() {
			path, err = filepath.Rel(string(r), path)
			files = append(files, filepath.ToSlash(path))
		}
		return err
	})
	return files, err
}

// date returns SOURCE_DATE_EPOCH, or when it is not set the commit's date.
// https://reproducible-builds.org/specs/source-date-epoch/
func (r repository) date(ctx context.Context) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		var err error
		if text, err = r.git(ctx, "log", "-1", "--format=%ct"); err != nil {
			return time.Time{}, err
		}
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
