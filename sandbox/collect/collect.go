// Package collect copies what a bug report needs from a running sandbox into a directory: the logs of all
// programs and pods, the objects and events of all clusters, and the versions.
//
// It replaces the values of Secrets. It does not look into logs, ConfigMaps or the arguments and the environment
// of containers, and it does not read the objects of a fleet's clusters.
package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"open-cluster-management.io/helloworld-addon/sandbox/build"
	"open-cluster-management.io/helloworld-addon/sandbox/statedir"
)

// Options configures a collection.
type Options struct {
	// Dir is the sandbox's directory.
	Dir string
	// To is the directory to write to. It must not exist, or be empty.
	To string
	// Report writes the sandbox's status.
	Report func(ctx context.Context, to io.Writer) error
}

type collector struct {
	Options
	text strings.Builder
}

// aboutFile has the versions, the status, and what could not be collected.
const aboutFile = "about.txt"

// ErrIncomplete means that something could not be read, for example the objects of a cluster whose API server is stopped.
// The rest has been written.
var ErrIncomplete = errors.New("not everything could be collected")

// Run collects as much as it can. The error is ErrIncomplete if that is not everything.
func Run(ctx context.Context, options Options) error {
	record, err := statedir.Read(options.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no sandbox in %s: start one with ocm-sandbox up", options.Dir)
	}
	if err != nil {
		return err
	}
	if entries, err := os.ReadDir(options.To); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty: name a new directory", options.To)
	}
	if err := os.MkdirAll(options.To, 0o700); err != nil {
		return fmt.Errorf("create the directory to collect in: %w", err)
	}
	c := &collector{Options: options}
	c.versions(record)
	problems := []error{c.status(ctx)}
	for _, name := range record.Clusters {
		problems = append(problems, c.cluster(ctx, name))
	}
	problems = append(problems, c.logs())
	missing := errors.Join(problems...)
	if missing != nil {
		c.about("\nnot collected:\n%v", missing)
		missing = fmt.Errorf("%w:\n%w", ErrIncomplete, missing)
	}
	if err := c.file(aboutFile, []byte(c.text.String())); err != nil {
		return errors.Join(err, missing)
	}
	return missing
}

func (c *collector) about(format string, args ...any) {
	_, _ = fmt.Fprintf(&c.text, format+"\n", args...)
}

func (c *collector) versions(record statedir.Record) {
	version := build.Version()
	if version == "" {
		version = "built from local files"
	}
	c.about("ocm-sandbox: %s, %s, %s/%s", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, pin := range build.Pins() {
		c.about("pinned in it: %s", pin)
	}
	for _, version := range record.Versions {
		c.about("in place of the pinned one: %s", version)
	}
	c.about("programs: %s", record.Programs)
	var kernel unix.Utsname
	if err := unix.Uname(&kernel); err == nil {
		c.about("Linux: %s", unix.ByteSliceToString(kernel.Release[:]))
	}
}

func (c *collector) status(ctx context.Context) error {
	c.about("\nstatus:")
	if err := c.Report(ctx, &c.text); err != nil {
		return fmt.Errorf("status: %w", err)
	}
	c.about("")
	return nil
}

// logs copies all logs below the sandbox's directory. It goes on after a file that cannot be read.
func (c *collector) logs() error {
	var problems []error
	err := filepath.WalkDir(c.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			problems = append(problems, err)
			return nil
		}
		if !entry.Type().IsRegular() || filepath.Ext(path) != ".log" {
			return nil
		}
		problems = append(problems, c.copy(filepath.Join("logs", strings.TrimPrefix(path, c.Dir)), path))
		return nil
	})
	return errors.Join(append(problems, err)...)
}

func (c *collector) copy(to, from string) error {
	source, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("copy a log: %w", err)
	}
	defer func() { _ = source.Close() }()
	target, err := c.create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(wrap(err, "copy %s", from), target.Close())
}

func (c *collector) create(name string) (*os.File, error) {
	path := filepath.Join(c.To, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("collect %s: %w", name, err)
	}
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
}

func (c *collector) file(name string, content []byte) error {
	target, err := c.create(name)
	if err != nil {
		return err
	}
	_, err = target.Write(content)
	return errors.Join(wrap(err, "collect %s", name), target.Close())
}
