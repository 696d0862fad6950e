package ocm

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// accountDir is the directory of the ServiceAccount's files in a pod.
const accountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// inNamespace calls a function so that a program that it starts finds its namespace in the file in
// which a pod has it. OCM's agents read the namespace of their Secrets from that file only.
//
// The file is in a mount namespace of the program's own.
func inNamespace(namespace string) func(func() error) error {
	return func(f func() error) error {
		result := make(chan error)
		go func() {
			// Without UnlockOSThread the thread ends with the goroutine, so that no
			// other code runs in its mount namespace.
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
		return fmt.Errorf("create a mount namespace for an agent: %w", err)
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
