// Package goimage builds a Go program into an image of a sandbox, without a Dockerfile.
//
// The image has the program in /bin, a link to it in /, certificates of the host's CAs, and
// the users root, nobody and nonroot (65532), as distroless images have them. It runs as
// nonroot. The package has no shell, and no libraries for programs that use cgo.
package goimage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"open-cluster-management.io/helloworld-addon/sandbox/images"
)

// Options configures a build.
type Options struct {
	// Image is the image's name, Package the Go package of its program, in the module of
	// the working directory.
	Image, Package string
	// Flags are flags of go build.
	Flags []string
	// Log receives the output of go build.
	Log io.Writer
}

// interruptGrace is the time that an interrupted go build has.
const interruptGrace = 10 * time.Second

// user is the user of the image's programs: nonroot, by its id as runAsNonRoot requires.
const user = "65532"

// accounts are the files of the users and groups.
var accounts = map[string]string{
	"etc/passwd": "root:x:0:0:root:/root:/sbin/nologin\n" +
		"nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n" +
		"nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n",
	"etc/group": "root:x:0:\nnobody:x:65534:\nnonroot:x:65532:\n",
}

// Build builds the program and adds the image to the store. It replaces an image of the name.
func Build(ctx context.Context, store images.Store, options Options) (err error) {
	draft, err := store.Draft()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, draft.Close()) }()
	if err := layOut(draft.Root()); err != nil {
		return fmt.Errorf("lay out image %s: %w", options.Image, err)
	}
	program, err := compile(ctx, draft.Root(), options)
	if err != nil {
		return fmt.Errorf("build image %s: %w", options.Image, err)
	}
	return store.AddAll(map[string]images.Image{options.Image: {
		Dir: draft.Root(), Config: images.Config{Entrypoint: []string{"/bin/" + program}, User: user},
	}})
}

// compile builds the program into the root's /bin, with a link in /, and returns its name.
func compile(ctx context.Context, root string, options Options) (string, error) {
	bin := filepath.Join(root, "bin")
	// the caller's flags first: go build wants -C there
	args := append(append([]string{"build"}, options.Flags...), "-trimpath", "-o", bin+string(filepath.Separator), options.Package)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	cmd.Stdout, cmd.Stderr = options.Log, options.Log
	// an interrupted go ends its compilers and removes its temporary files
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = interruptGrace
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go build %s: %w", options.Package, err)
	}
	built, err := os.ReadDir(bin)
	if err != nil {
		return "", fmt.Errorf("find the built program: %w", err)
	}
	if len(built) != 1 {
		return "", fmt.Errorf("%s has %d programs: name the package of one", options.Package, len(built))
	}
	name := built[0].Name()
	if err := os.Chmod(filepath.Join(bin, name), 0o755); err != nil {
		return "", err
	}
	err = os.Symlink("bin/"+name, filepath.Join(root, name))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return name, nil
}

// layOut writes the image's files but for the program.
func layOut(root string) error {
	for _, dir := range []struct {
		name  string
		mode  fs.FileMode
		owner int
	}{{".", 0o755, 0}, {"bin", 0o755, 0}, {"etc", 0o755, 0}, {"etc/ssl", 0o755, 0}, {"etc/ssl/certs", 0o755, 0}, {"home", 0o755, 0}, {"home/nonroot", 0o700, 65532}} {
		path := filepath.Join(root, dir.name)
		err := os.MkdirAll(path, dir.mode)
		if err == nil {
			err = os.Chmod(path, dir.mode) // whatever the umask
		}
		if err == nil && os.Geteuid() == 0 {
			err = os.Chown(path, dir.owner, dir.owner)
		}
		if err != nil {
			return err
		}
	}
	for name, content := range accounts {
		if err := writeFile(filepath.Join(root, name), []byte(content)); err != nil {
			return err
		}
	}
	return copyAuthorities(root)
}

// authorities are where Linux distributions keep the certificates of CAs, in the order of
// crypto/x509: https://github.com/golang/go/blob/go1.26.0/src/crypto/x509/root_linux.go
var authorities = []string{
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/pki/tls/cacert.pem",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/ssl/cert.pem",
}

// copyAuthorities copies the host's certificates of CAs, if it has any.
func copyAuthorities(root string) error {
	for _, file := range authorities {
		content, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		return writeFile(filepath.Join(root, authorities[0]), content)
	}
	return nil
}

// writeFile writes a file that all users may read.
func writeFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		return err
	}
	return os.Chmod(path, 0o644)
}
