package container

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// join runs f on a thread of its own in the container's namespaces of these kinds, and in
// its root if they include the mount namespace. Processes that f starts run inside. If the
// container has ended, errors.Is(err, os.ErrProcessDone).
//
// A thread may change its mount namespace although the process has several, because it
// stops sharing its root and working directory with them. The thread never serves another
// goroutine: a goroutine that ends without UnlockOSThread terminates its thread.
func (p *Process) join(kinds int, f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			// /proc/self shows the main thread, which cannot be terminated. While
			// this goroutine holds it, the other one gets another thread.
			result <- p.join(kinds, f)
			runtime.UnlockOSThread()
			return
		}
		err := p.enterNamespaces(kinds)
		if err == nil {
			err = f()
		}
		if errors.Is(err, unix.ENOMEM) {
			// The kernel's answer to a new process in a PID namespace without a
			// first process (pid_namespaces(7)).
			err = fmt.Errorf("%w: %w", os.ErrProcessDone, err)
		}
		result <- err
	}()
	return <-result
}

// enterNamespaces moves the calling thread into the container's namespaces of these kinds.
func (p *Process) enterNamespaces(kinds int) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("stop sharing the root directory with other threads: %w", err)
	}
	var err error
	if e := p.cmd.Process.WithHandle(func(pidfd uintptr) {
		err = unix.Setns(int(pidfd), kinds)
	}); e != nil {
		err = e
	}
	if errors.Is(err, unix.ESRCH) {
		err = os.ErrProcessDone
	}
	if err != nil {
		return fmt.Errorf("enter the namespaces of container %s: %w", p.spec.ID, err)
	}
	return nil
}
