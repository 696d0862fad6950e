package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// downloaded is what go mod download prints of a module.
type downloaded struct{ Dir, GoMod, Error string }

// download downloads a module from a directory. The query is PATH@VERSION.
func (b *builder) download(ctx context.Context, dir, query string) (downloaded, error) {
	out, err := b.goIn(ctx, dir, "mod", "download", "-json", query)
	var module downloaded
	// With -json the cause of a failure is in the output.
	if parseErr := json.Unmarshal([]byte(out), &module); parseErr == nil && module.Error != "" {
		return downloaded{}, fmt.Errorf("download %s: %s", query, module.Error)
	} else if err == nil && parseErr != nil {
		err = fmt.Errorf("read what go mod download prints: %w", parseErr)
	}
	return module, err
}

// goCommand runs go in the programs' module and returns its output.
func (b *builder) goCommand(ctx context.Context, args ...string) (string, error) {
	return b.goIn(ctx, b.Module, args...)
}

// goIn runs go in a directory and returns its output, also when it fails.
func (b *builder) goIn(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	// not for the platform that another build is for
	platform := []string{"GOOS=linux", "GOARCH=" + runtime.GOARCH}
	cmd.Env = append(append(os.Environ(), platform...), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly -buildvcs=false", "GOWORK=off")
	// an interrupted go ends its compilers and removes its temporary files
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("%w: install Go (https://go.dev/dl), because the programs are built from source", err)
	}
	if err != nil {
		return string(out), fmt.Errorf("go %s: %w\n%s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
