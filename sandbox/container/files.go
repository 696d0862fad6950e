package container

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	securejoin "github.com/cyphar/filepath-securejoin"
	"golang.org/x/sys/unix"
)

// noNames is the /etc/resolv.conf of a container that has none given. Without a
// line for a server, resolvers ask 127.0.0.1, where nobody answers, and fail at
// once.
const noNames = "# No name server here.\n"

// etcFile is a file that a container runtime writes into every container.
type etcFile struct{ path, content string }

// etcFiles are the files of /etc.
func etcFiles(spec Spec, address string) []etcFile {
	hostname := shortHostname(spec.Hostname)
	resolv := spec.ResolvConf
	if resolv == "" {
		resolv = noNames
	}
	return []etcFile{
		{"/etc/hosts", hostsFile(hostname, address, spec.Hosts)},
		{"/etc/hostname", hostname + "\n"},
		{"/etc/resolv.conf", resolv},
	}
}

// writeFiles puts the files in place of the image's.
func writeFiles(root string, files []etcFile) error {
	for _, file := range files {
		dir, err := securejoin.SecureJoin(root, filepath.Dir(file.path))
		if err != nil {
			return fmt.Errorf("find %s: %w", filepath.Dir(file.path), err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("create %s: %w", filepath.Dir(file.path), err)
		}
		if err := replaceFile(filepath.Join(dir, filepath.Base(file.path)), file.content); err != nil {
			return fmt.Errorf("write %s: %w", file.path, err)
		}
	}
	return nil
}

// replaceFile writes a new file, also where the image's is mounted.
func replaceFile(target, content string) error {
	if err := unix.Unmount(target, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil &&
		!errors.Is(err, unix.EINVAL) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(target, []byte(content), 0o644)
}
