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
	// self is the running program, also when its file was replaced meanwhile.
	self = "/proc/self/exe"
	// outputDelay bounds the wait for the rest of a container's output. All its
	// processes are gone by then, so it is for an end of a pipe that they gave
	// to somebody else.
	outputDelay = 5 * time.Second

	cloneFlags = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC
)

// Process is a running container.
type Process struct {
	cmd  *exec.Cmd
	wait func() (Exit, error)
}

// Exit is how a container ended.
type Exit struct {
	// Code is the exit code, or 128 and the signal's number.
	Code int
	// Signal is what killed it; 0 when nothing did.
	Signal syscall.Signal
}

// Start runs a container in the network namespace, or in the caller's when ns is
// nil. When it returns, the program runs. A container that cannot be set up and a
// program that cannot be run are a *StartError. The context is for the start
// alone; the container goes on when it ends.
//
// A writer that is an *os.File is handed to the program. Others are written to
// until Wait returns, one write at a time even when both are the same; one that
// fails is not written to any more, and the program is spared. A nil writer
// discards. The caller must call Wait.
func Start(ctx context.Context, spec Spec, ns *network.Namespace, stdout, stderr io.Writer) (*Process, error) {
	return start(ctx, order{Spec: spec}, ns, stdout, stderr)
}

func start(ctx context.Context, o order, ns *network.Namespace, stdout, stderr io.Writer) (*Process, error) {
	if err := o.Spec.validate(); err != nil {
		return nil, &StartError{Reason: ReasonCreate, ID: o.Spec.ID, Err: err}
	}
	out := &outputs{}
	cmd := exec.Command(self, InitArg)
	cmd.Stdout, cmd.Stderr = out.sink(stdout), out.sink(stderr)
	cmd.WaitDelay = outputDelay
	// A session of its own keeps a Ctrl-C in the caller's terminal away.
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: cloneFlags, Setsid: true}
	run := cmd.Start
	if ns != nil {
		o.Address = ns.IP().String()
		run = func() error { return ns.Do(cmd.Start) }
	}
	if err := launch(ctx, o, cmd, run); err != nil {
		return nil, err
	}
	return &Process{cmd: cmd, wait: sync.OnceValues(func() (Exit, error) { return await(cmd, out) })}, nil
}

// launch starts the command and hears from it that the program runs.
func launch(ctx context.Context, o order, cmd *exec.Cmd, run func() error) error {
	fail := func(err error) error { return &StartError{Reason: ReasonCreate, ID: o.Spec.ID, Err: err} }
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
	cmd.ExtraFiles = []*os.File{orderRead, reportWrite} // fd 3 and 4
	err = run()
	orderRead.Close()
	reportWrite.Close()
	if err != nil {
		return fail(fmt.Errorf("start a process in new namespaces: %w", err))
	}

	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	// A reader that is gone has said why in its report, or says nothing.
	_ = json.NewEncoder(orderWrite).Encode(o)
	orderWrite.Close()
	err = readReport(reportRead, o.Spec.ID)
	if !stop() {
		err = fail(fmt.Errorf("start given up: %w", context.Cause(ctx)))
	}
	if err == nil {
		return nil
	}
	_ = cmd.Process.Kill()
	ended := cmd.Wait()
	if errors.Is(err, errEarlyEnd) {
		return fail(fmt.Errorf("%w: %w", errEarlyEnd, ended))
	}
	return err
}

// Pid is the program's process id in the caller's PID namespace.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Signal sends a signal to the program; SIGKILL ends all of the container. It
// returns os.ErrProcessDone when the container has ended.
func (p *Process) Signal(signal os.Signal) error { return p.cmd.Process.Signal(signal) }

// Wait waits until the container has ended, with all its processes, and its
// output has been written. The error, if any, is of writing the output; Exit is
// right nevertheless. It may be called several times.
func (p *Process) Wait() (Exit, error) { return p.wait() }

func await(cmd *exec.Cmd, out *outputs) (Exit, error) {
	err := cmd.Wait()
	if errors.As(err, new(*exec.ExitError)) {
		err = nil
	}
	if cmd.ProcessState == nil {
		return Exit{Code: -1}, fmt.Errorf("wait for the container's process: %w", err)
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if err = errors.Join(err, out.err()); err != nil {
		err = fmt.Errorf("write the container's output: %w", err)
	}
	return exitOf(status), err
}

func exitOf(status syscall.WaitStatus) Exit {
	if status.Signaled() {
		return Exit{Code: 128 + int(status.Signal()), Signal: status.Signal()}
	}
	return Exit{Code: status.ExitStatus()}
}

// outputs are the writers of one container, written to in turn.
type outputs struct {
	mu    sync.Mutex
	first error
}

// sink wraps a writer, but for a file: the program gets that itself.
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

func (o *outputs) err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.first
}

// sink goes on taking what it is given when its writer fails: a disk full of
// logs must not kill the program with SIGPIPE.
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
