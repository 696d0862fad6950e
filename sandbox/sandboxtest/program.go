package sandboxtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"open-cluster-management.io/helloworld-addon/sandbox/dirlock"
)

const modulePath = "open-cluster-management.io/helloworld-addon/sandbox"

// unusedAfter is the age after which the last use of a program in the cache is forgotten.
const unusedAfter = 7 * 24 * time.Hour

// program is ocm-sandbox.
type program struct {
	path string
	// programs and module are the values of its flags of these names.
	programs, module string
}

// flags returns the flags that every command gets.
func (p program) flags(dir string) []string {
	flags := []string{"--dir=" + dir}
	if p.programs != "" {
		flags = append(flags, "--programs="+p.programs)
	}
	if p.module != "" {
		flags = append(flags, "--module="+p.module)
	}
	return flags
}

// findProgram returns the program of the environment, or the one in PATH, or builds it.
func findProgram(ctx context.Context) (program, error) {
	p := program{path: os.Getenv("OCM_SANDBOX"), programs: os.Getenv("SANDBOX_PROGRAMS"), module: os.Getenv("SANDBOX_MODULE")}
	if p.path != "" {
		path, err := exec.LookPath(p.path)
		if err != nil {
			return p, fmt.Errorf("OCM_SANDBOX=%s is not a program that can be run: %w: set it to the absolute path of ocm-sandbox, or unset it", p.path, err)
		}
		p.path = path
		return p, nil
	}
	path, err := exec.LookPath("ocm-sandbox")
	if err != nil {
		path, err = buildProgram(ctx)
	}
	p.path = path
	return p, err
}

// buildProgram builds ocm-sandbox in the user's cache directory, unless it is there, and returns its path.
// The sources are those of the module that the tests use.
func buildProgram(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	source, err := sources(ctx)
	if err != nil {
		return "", fmt.Errorf("find the sources of ocm-sandbox, because OCM_SANDBOX is not set and PATH has no ocm-sandbox "+
			"(CGO_ENABLED=0 go install -trimpath %s/cmd/ocm-sandbox@VERSION installs it): %w", modulePath, err)
	}
	key, err := fingerprint(os.DirFS(source))
	if err != nil {
		return "", fmt.Errorf("read the sources of ocm-sandbox: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache directory (set HOME or XDG_CACHE_HOME): %w", err)
	}
	dir := filepath.Join(cache, "ocm-sandbox", "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("create a directory for ocm-sandbox: %w", err)
	}
	unlock, err := dirlock.Lock(ctx, dir, nil)
	if err != nil {
		return "", err
	}
	defer unlock()
	file := filepath.Join(dir, "ocm-sandbox-"+key)
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		// in the module's own directory, since the tests' module lacks some of its dependencies
		if _, err := goCommand(ctx, source, "build", "-trimpath", "-o", file, "./cmd/ocm-sandbox"); err != nil {
			return "", fmt.Errorf("build ocm-sandbox: %w", err)
		}
	}
	return file, prune(dir, file, time.Now())
}

// sources returns the directory of the sandbox's module. go list knows none while the module is not in the
// module cache, and in a module with a vendor directory only with -mod=readonly.
func sources(ctx context.Context) (string, error) {
	list := []string{"list", "-mod=readonly", "-m", "-f", "{{.Dir}}", modulePath}
	source, err := goCommand(ctx, "", list...)
	if err != nil || source != "" {
		return source, err
	}
	if _, err := goCommand(ctx, "", "mod", "download", modulePath); err != nil {
		return "", err
	}
	if source, err = goCommand(ctx, "", list...); err == nil && source == "" {
		err = errors.New("go list names no directory of this module")
	}
	return source, err
}

// prune records the use of a file at a time, and removes the files of the directory that were not used for
// a long time before it.
func prune(dir, used string, now time.Time) error {
	if err := os.Chtimes(used, now, now); err != nil {
		return fmt.Errorf("record the use of ocm-sandbox: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list the built ocm-sandbox: %w", err)
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && now.Sub(info.ModTime()) > unusedAfter {
			_ = os.Remove(filepath.Join(dir, entry.Name())) // the next use tries again
		}
	}
	return nil
}

// fingerprint returns a hash of the files of a Go module that may belong to its programs. Hidden
// directories, bin and testdata do not count.
func fingerprint(module fs.FS) (string, error) {
	hash := sha256.New()
	err := fs.WalkDir(module, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if path != "." && (strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"bin", "testdata"}, entry.Name())) {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".md") {
			return nil
		}
		content, err := fs.ReadFile(module, path)
		_, _ = fmt.Fprintf(hash, "%q %d\n%s", path, len(content), content)
		return err
	})
	return hex.EncodeToString(hash.Sum(nil))[:16], err
}
