package ocm

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// accountDir is where a pod has the files of its ServiceAccount.
const accountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// inNamespace calls a function so that a program which it starts finds the
// namespace where a pod has it. OCM's agents read there, and nowhere else, in
// which namespace they keep their secrets.
//
// The file is in a mount namespace that the program alone is in.
func inNamespace(namespace string) func(func() error) error {
	return func(f func() error) error {
		result := make(chan error)
		go func() {
			// The thread is not unlocked, and ends with the goroutine: nothing else
			// must run in its mount namespace.
			runtime.LockOSThread()
			err := mountNamespaceFile(namespace)
			if err == nil {
				err = f()
			}
			result <- err
		}()
		return <-result
	}
}

func mountNamespaceFile(namespace string) error {
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace for an agent: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make an agent's mounts private: %w", err)
	}
	if err := unix.Mount("tmpfs", "/var/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=64k,mode=0755"); err != nil {
		return fmt.Errorf("mount an agent's own /var/run: %w", err)
	}
	err := os.MkdirAll(accountDir, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(accountDir, "namespace"), []byte(namespace), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write an agent's namespace: %w", err)
	}
	return nil
}
