package container

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// openTerminal creates a terminal of the container and connects the command to it. The
// calling thread must be in the container's mount namespace. Multiplexer and terminal are
// described in pts(4) and ioctl_tty(2).
func (e *Execution) openTerminal(spec Spec, stdout io.Writer) (given []io.Closer, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("create a terminal: open /dev/ptmx: %w", err)
	}
	e.terminal = os.NewFile(uintptr(fd), "terminal")
	e.stdin = terminalInput{e.terminal}
	if stdout == nil {
		stdout = io.Discard
	}
	e.outputs = []*output{{from: e.terminal, to: stdout}}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, fmt.Errorf("unlock the terminal: %w", err)
	}
	peer, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		return nil, fmt.Errorf("open the terminal: %w", errno)
	}
	program := os.NewFile(peer, "terminal")
	given = []io.Closer{program}
	e.cmd.Stdin, e.cmd.Stdout, e.cmd.Stderr = program, program, program
	// EINVAL: the user namespace maps one user, who owns the terminal already.
	if err := program.Chown(spec.UID, spec.GID); err != nil && !errors.Is(err, unix.EINVAL) {
		return given, fmt.Errorf("change the terminal's owner: %w", err)
	}
	return given, nil
}

// terminalInput ignores Close: a terminal has one file for input and output.
type terminalInput struct{ io.Writer }

func (terminalInput) Close() error { return nil }

// Resize sets the size of the program's terminal in characters. Without a terminal it does
// nothing.
func (e *Execution) Resize(width, height uint16) error {
	if e.terminal == nil {
		return nil
	}
	conn, err := e.terminal.SyscallConn()
	if err != nil {
		return fmt.Errorf("resize the terminal: %w", err)
	}
	var result error
	err = conn.Control(func(fd uintptr) {
		result = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height})
	})
	if err := errors.Join(err, result); err != nil {
		return fmt.Errorf("resize the terminal: %w", err)
	}
	return nil
}
