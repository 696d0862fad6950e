package container

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// newTerminal creates a terminal of the container, whose mount namespace the calling thread
// must be in. It returns the terminal's two ends: the caller's and the program's. Multiplexer
// and terminal are described in pts(4) and ioctl_tty(2).
func newTerminal(spec Spec) (terminal, program *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("create a terminal: open /dev/ptmx: %w", err)
	}
	terminal = os.NewFile(uintptr(fd), "terminal")
	if program, err = openProgramEnd(fd, spec); err != nil {
		return nil, nil, errors.Join(err, terminal.Close())
	}
	return terminal, program, nil
}

func openProgramEnd(fd int, spec Spec) (*os.File, error) {
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, fmt.Errorf("unlock the terminal: %w", err)
	}
	peer, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		return nil, fmt.Errorf("open the terminal: %w", errno)
	}
	program := os.NewFile(peer, "terminal")
	// EINVAL: the user namespace maps one user, who owns the terminal already.
	if err := program.Chown(spec.UID, spec.GID); err != nil && !errors.Is(err, unix.EINVAL) {
		return nil, errors.Join(fmt.Errorf("change the terminal's owner: %w", err), program.Close())
	}
	return program, nil
}

// openTerminal creates a terminal of the container and connects the command to it. The
// calling thread must be in the container's mount namespace.
func (e *Execution) openTerminal(spec Spec, stdout io.Writer) (given []io.Closer, err error) {
	terminal, program, err := newTerminal(spec)
	if err != nil {
		return nil, err
	}
	e.terminal, e.stdin = terminal, terminalInput{terminal}
	e.outputs = []*output{terminalOutput(terminal, stdout)}
	e.cmd.Stdin, e.cmd.Stdout, e.cmd.Stderr = program, program, program
	return []io.Closer{program}, nil
}

func terminalOutput(terminal *os.File, to io.Writer) *output {
	if to == nil {
		to = io.Discard
	}
	return &output{from: terminal, to: to}
}

// becomeTerminal connects the calling process to a new terminal of its container, and sends
// the other end through the socket.
func becomeTerminal(spec Spec, socket int) error {
	terminal, program, err := newTerminal(spec)
	if err != nil {
		return err
	}
	defer terminal.Close()
	defer program.Close()
	if err := unix.Sendmsg(socket, []byte{0}, unix.UnixRights(int(terminal.Fd())), nil, 0); err != nil {
		return fmt.Errorf("pass the terminal on: %w", err)
	}
	if err := unix.IoctlSetInt(int(program.Fd()), unix.TIOCSCTTY, 0); err != nil {
		return fmt.Errorf("make the terminal the session's: %w", err)
	}
	for fd := range 3 {
		if err := unix.Dup3(int(program.Fd()), fd, 0); err != nil {
			return fmt.Errorf("connect the terminal: %w", err)
		}
	}
	return nil
}

// receiveTerminal returns the end of a terminal that becomeTerminal has sent.
func receiveTerminal(socket *os.File) (*os.File, error) {
	oob := make([]byte, unix.CmsgSpace(4)) // one descriptor
	_, n, _, _, err := unix.Recvmsg(int(socket.Fd()), make([]byte, 1), oob, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("receive the container's terminal: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("receive the container's terminal: %d messages: %w", len(messages), errors.Join(err, syscall.EPROTO))
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, fmt.Errorf("receive the container's terminal: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "terminal"), nil
}

// terminalInput ignores Close: a terminal has one file for input and output.
type terminalInput struct{ io.Writer }

func (terminalInput) Close() error { return nil }

// Resize sets the size of the program's terminal in characters. Without a terminal it does
// nothing.
func (e *Execution) Resize(width, height uint16) error { return resize(e.terminal, width, height) }

// Resize sets the size of the program's terminal in characters. Without a terminal it does
// nothing.
func (p *Process) Resize(width, height uint16) error { return resize(p.terminal, width, height) }

func resize(terminal *os.File, width, height uint16) error {
	if terminal == nil {
		return nil
	}
	conn, err := terminal.SyscallConn()
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
