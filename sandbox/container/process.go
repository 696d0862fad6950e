package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"open-cluster-management.io/helloworld-addon/sandbox/network"
)

const (
	// self is the running program, even if its file has been replaced.
	self = "/proc/self/exe"
	// outputDelay limits the wait for the rest of a container's output. All its
	// processes have ended by then, but they may have passed the pipe to a process
	// outside the container.
	outputDelay = 5 * time.Second

	cloneFlags = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC
)

// Process is a running container.
type Process struct {
	cmd      *exec.Cmd
	spec     Spec
	stdin    io.WriteCloser
	terminal *os.File // nil without a terminal
	mounts   uint64   // the number of the container's mount namespace
	wait     func() (Exit, error)
}

// Exit describes the end of a container.
type Exit struct {
	// Code is the exit code, or 128 plus the signal's number.
	Code int
	// Signal is the signal that killed it, 0 if none did.
	Signal syscall.Signal
}

// Start runs a container in the network namespace, or in the caller's if ns is nil.
// When it returns nil, the program runs. If the container cannot be created or the
// program cannot be run, the error is a *StartError. ctx limits the start only; the
// container outlives it.
//
// The program inherits a writer that is an *os.File. Start copies the output to other
// writers until Wait returns, one write at a time even if both are the same. After a
// failed write it discards that output, so that the program does not notice. A nil
// writer discards. The caller must call Wait.
func Start(ctx context.Context, spec Spec, ns *network.Namespace, stdout, stderr io.Writer) (*Process, error) {
	return start(ctx, order{Spec: spec}, ns, stdout, stderr)
}

func start(ctx context.Context, o order, ns *network.Namespace, stdout, stderr io.Writer) (*Process, error) {
	if err := o.Spec.validate(); err != nil {
		return nil, &StartError{Reason: ReasonCreate, ID: o.Spec.ID, Err: err}
	}
	out := &outputs{}
	cmd := exec.Command(self, InitArg)
	cmd.WaitDelay = outputDelay
	// A session of its own keeps a Ctrl-C in the caller's terminal away.
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: cloneFlags, Setsid: true}
	run := cmd.Start
	if ns != nil {
		o.Address = ns.IP().String()
		run = func() error { return ns.Do(cmd.Start) }
	}
	if beside := o.Spec.Beside; beside != nil {
		o.Beside = true
		cmd.SysProcAttr.Cloneflags = cloneFlags &^ unix.CLONE_NEWPID
		run = func() error { return beside.join(unix.CLONE_NEWPID|unix.CLONE_NEWNET, cmd.Start) }
	}
	p := &Process{cmd: cmd, spec: o.Spec}
	if o.Spec.TTY {
		if err := p.startOnTerminal(ctx, o, run, out, stdout); err != nil {
			return nil, err
		}
		return p, nil
	}
	cmd.Stdout, cmd.Stderr = out.sink(stdout), out.sink(stderr)
	input, err := p.openStdin()
	if err == nil {
		p.mounts, err = launch(ctx, o, cmd, run)
	}
	if input != nil {
		input.Close()
	}
	if err != nil {
		p.closeStdin()
		return nil, err
	}
	p.wait = sync.OnceValues(func() (Exit, error) {
		defer p.closeStdin()
		exit, err := p.await()
		return exit, errors.Join(err, out.err())
	})
	return p, nil
}

// startOnTerminal starts the container with a terminal, whose output it copies.
func (p *Process) startOnTerminal(ctx context.Context, o order, run func() error, out *outputs, stdout io.Writer) error {
	fail := func(err error) error { return &StartError{Reason: ReasonCreate, ID: p.spec.ID, Err: err} }
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fail(fmt.Errorf("create a socket pair: %w", err))
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "terminal socket"), os.NewFile(uintptr(pair[1]), "terminal socket")
	defer ours.Close()
	p.mounts, err = launch(ctx, o, p.cmd, run, theirs)
	theirs.Close()
	if err != nil {
		return err
	}
	if p.terminal, err = receiveTerminal(ours); err != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		return fail(err)
	}
	if p.spec.Stdin {
		p.stdin = terminalInput{p.terminal}
	}
	shown := terminalOutput(p.terminal, out.sink(stdout))
	var copying sync.WaitGroup
	copying.Go(shown.copy)
	p.wait = sync.OnceValues(func() (Exit, error) {
		exit, err := p.await()
		shown.programEnded(outputDelay)
		copying.Wait()
		return exit, errors.Join(err, out.err(), p.terminal.Close())
	})
	return nil
}

// openStdin connects the program's input to a pipe if it has one, and returns the
// program's end.
func (p *Process) openStdin() (*os.File, error) {
	if !p.spec.Stdin {
		return nil, nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, &StartError{Reason: ReasonCreate, ID: p.spec.ID, Err: fmt.Errorf("create a pipe: %w", err)}
	}
	p.cmd.Stdin, p.stdin = read, write
	return read, nil
}

func (p *Process) closeStdin() {
	if p.stdin != nil {
		_ = p.stdin.Close()
	}
}

// launch starts the command, which inherits the further files from fd 5 on, and waits for
// its report that the program runs. It returns the number of the program's mount namespace.
func launch(ctx context.Context, o order, cmd *exec.Cmd, run func() error, further ...*os.File) (mounts uint64, err error) {
	fail := func(err error) (uint64, error) {
		return 0, &StartError{Reason: ReasonCreate, ID: o.Spec.ID, Err: err}
	}
	orderRead, orderWrite, err := os.Pipe()
	if err != nil {
		return fail(fmt.Errorf("create a pipe: %w", err))
	}
	defer orderWrite.Close()
	reportRead, reportWrite, err := os.Pipe()
	if err != nil {
		orderRead.Close()
		return fail(fmt.Errorf("create a pipe: %w", err))
	}
	defer reportRead.Close()
	cmd.ExtraFiles = append([]*os.File{orderRead, reportWrite}, further...) // fd 3 and 4
	err = run()
	orderRead.Close()
	reportWrite.Close()
	if err != nil {
		return fail(fmt.Errorf("start a process in the container's namespaces: %w", err))
	}

	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	// An error means that the reader has ended; readReport returns why.
	_ = json.NewEncoder(orderWrite).Encode(o)
	orderWrite.Close()
	mounts, err = readReport(reportRead, o.Spec.ID)
	if !stop() {
		_, err = fail(fmt.Errorf("start canceled: %w", context.Cause(ctx)))
	}
	if err == nil {
		return mounts, nil
	}
	_ = cmd.Process.Kill()
	ended := cmd.Wait()
	if errors.Is(err, errEarlyEnd) {
		return fail(fmt.Errorf("%w: %w", errEarlyEnd, ended))
	}
	return 0, err
}

// Pid returns the program's process id in the caller's PID namespace.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Signal sends a signal to the program. SIGKILL ends the whole container, but with
// Spec.Beside only the program and, in Wait, its process group. The error is
// os.ErrProcessDone if the program has ended.
func (p *Process) Signal(signal os.Signal) error { return p.cmd.Process.Signal(signal) }

// Stdin returns the program's input, nil unless Spec.Stdin is set. Wait closes it.
func (p *Process) Stdin() io.WriteCloser { return p.stdin }

// Wait waits until all processes of the container have ended and its output is
// written. With Spec.Beside it waits for the program and kills its process group. An
// error is about the output; Exit is valid in any case. Wait may be called several
// times.
func (p *Process) Wait() (Exit, error) { return p.wait() }

// await waits for the program, and for the output that it does not inherit or send to a
// terminal.
func (p *Process) await() (Exit, error) {
	if p.spec.Beside != nil { // no kernel rule ends its descendants
		if err := waitEnded(p.cmd.Process.Pid); err != nil {
			return Exit{Code: -1}, err
		}
		_ = unix.Kill(-p.cmd.Process.Pid, unix.SIGKILL)
	}
	err := p.cmd.Wait()
	if errors.As(err, new(*exec.ExitError)) {
		err = nil
	}
	if p.cmd.ProcessState == nil {
		return Exit{Code: -1}, fmt.Errorf("wait for the container's process: %w", err)
	}
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if err != nil {
		err = fmt.Errorf("read the container's output: %w", err)
	}
	return exitOf(status), err
}

func exitOf(status syscall.WaitStatus) Exit {
	if status.Signaled() {
		return Exit{Code: 128 + int(status.Signal()), Signal: status.Signal()}
	}
	return Exit{Code: status.ExitStatus()}
}

// outputs serializes the writes of one container.
type outputs struct {
	mu    sync.Mutex
	first error
}

// sink wraps a writer. It returns a file as it is, because the program inherits it.
func (o *outputs) sink(w io.Writer) io.Writer {
	switch w := w.(type) {
	case nil:
		return nil
	case *os.File:
		if w == nil {
			return nil
		}
		return w
	}
	return &sink{outputs: o, writer: w}
}

// err returns the error of the first write that failed.
func (o *outputs) err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.first != nil {
		return fmt.Errorf("write the container's output: %w", o.first)
	}
	return nil
}

// sink discards its input after its writer has failed. Otherwise, for example, a full
// disk would kill the program with SIGPIPE.
type sink struct {
	outputs *outputs
	writer  io.Writer
	failed  bool
}

func (s *sink) Write(p []byte) (int, error) {
	s.outputs.mu.Lock()
	defer s.outputs.mu.Unlock()
	if s.failed {
		return len(p), nil
	}
	if _, err := s.writer.Write(p); err != nil {
		s.failed = true
		if s.outputs.first == nil {
			s.outputs.first = err
		}
	}
	return len(p), nil
}
