package ocm

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"open-cluster-management.io/helloworld-addon/test/kind/progress"
)

const (
	// pullTimeout bounds the pull of one image, of up to 150 MB.
	pullTimeout = 5 * time.Minute
	// hashLabel on a built image is the hash of its program.
	hashLabel = "helloworld.open-cluster-management.io/program-sha256"
	// user is the one that OCM's own images run as.
	user = "10001"
)

// Builder makes Docker have OCM's images.
type Builder struct {
	// Module is the directory of the Go module that pins OCM's programs.
	Module string
	// Out is the directory that the programs are built into.
	Out string
	// Progress gets a line for each step.
	Progress *progress.Reporter
}

// pull pulls the published images that are not there. The first that cannot be
// pulled ends it.
func (b *Builder) pull(ctx context.Context) error {
	for _, ref := range published.Hub() {
		if _, err := docker(ctx, nil, "image", "inspect", ref); err == nil {
			continue
		}
		err := b.Progress.Step(ctx, ref+" is pulled", nil, func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, pullTimeout)
			defer cancel()
			_, err := docker(ctx, nil, "pull", "--quiet", ref)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// build builds the programs and an image of each. What is there is left as it is.
func (b *Builder) build(ctx context.Context) error {
	err := b.Progress.Step(ctx, "OCM's programs are built from their Go modules", nil, b.compile)
	if err != nil {
		return err
	}
	return b.Progress.Step(ctx, "OCM's images are built", nil, func(ctx context.Context) error {
		for _, of := range hubImages {
			if err := b.buildImage(ctx, of); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *Builder) compile(ctx context.Context) error {
	out, err := filepath.Abs(b.Out)
	if err != nil {
		return fmt.Errorf("directory of the programs: %w", err)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("create the programs' directory: %w", err)
	}
	args := []string{"build", "-C", b.Module, "-trimpath", "-ldflags", "-s -w", "-o", out + string(filepath.Separator)}
	for _, of := range hubImages {
		args = append(args, "open-cluster-management.io/ocm/cmd/"+of.program)
	}
	command := exec.CommandContext(ctx, "go", args...)
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOWORK=off")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build OCM's programs: %w\n%s", err, bytes.TrimSpace(output))
	}
	return nil
}

// buildImage builds one image from scratch: the program at the place where OCM's
// charts look for it, and nothing else.
func (b *Builder) buildImage(ctx context.Context, of image) error {
	program, err := os.ReadFile(filepath.Join(b.Out, of.program))
	if err != nil {
		return fmt.Errorf("read the built program: %w", err)
	}
	sum := sha256.Sum256(program)
	hash, ref := hex.EncodeToString(sum[:]), built.ref(of)
	label, err := docker(ctx, nil, "image", "inspect", "--format", fmt.Sprintf("{{index .Config.Labels %q}}", hashLabel), ref)
	if err == nil && strings.TrimSpace(label) == hash {
		return nil
	}
	dockerfile := fmt.Sprintf("FROM scratch\nLABEL %s=%s\nCOPY %s /%s\nUSER %s\n", hashLabel, hash, of.program, of.program, user)
	var buildContext bytes.Buffer
	if err := writeTar(&buildContext, map[string][]byte{"Dockerfile": []byte(dockerfile), of.program: program}); err != nil {
		return fmt.Errorf("build %s: %w", ref, err)
	}
	_, err = docker(ctx, &buildContext, "build", "--quiet", "--tag", ref, "-")
	return err
}

func writeTar(out io.Writer, files map[string][]byte) error {
	archive := tar.NewWriter(out)
	for name, content := range files {
		header := &tar.Header{Name: name, Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(content); err != nil {
			return err
		}
	}
	return archive.Close()
}

// docker runs a command of Docker and returns what it prints.
func docker(ctx context.Context, in io.Reader, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "docker", args...)
	command.Stdin = in
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if ctx.Err() != nil {
		err = errors.Join(err, ctx.Err())
	}
	if err != nil {
		return "", fmt.Errorf("docker %s %s: %w: %s", args[0], args[len(args)-1], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return string(output), nil
}
