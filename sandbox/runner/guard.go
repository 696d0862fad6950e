package runner

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// The orders to a guard.
const (
	orderRemove = "remove"
	orderKeep   = "keep"
)

// GuardCommand is the argument of ocm-sandbox, before the run's directory, that calls Guard.
const GuardCommand = "guard"

// guard is the process that removes the sandbox.
type guard struct {
	process *exec.Cmd
	orders  io.WriteCloser
}

// startGuard starts a guard. It has a session of its own, so that Ctrl-C in the terminal does not reach it.
func startGuard(parent string) (*guard, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program's file: %w", err)
	}
	cmd := exec.Command(self, GuardCommand, parent)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	orders, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("create the guard's pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the process that removes the sandbox: %w", err)
	}
	return &guard{process: cmd, orders: orders}, nil
}

// finish gives the order and waits until the guard has carried it out.
func (g *guard) finish(order string) error {
	_, err := io.WriteString(g.orders, order)
	err = errors.Join(err, g.orders.Close())
	// the guard has printed the cause
	if waitErr := g.process.Wait(); waitErr != nil {
		err = errors.Join(err, fmt.Errorf("remove the sandbox: %w", waitErr))
	}
	return err
}

// inForeground reports whether this process is in the foreground of a terminal, which then sends Ctrl-C to all
// processes there.
func inForeground() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer func() { _ = terminal.Close() }()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
