package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// ExecSpec configures a further program in a running container.
type ExecSpec struct {
	// Args is the program and its arguments. It is looked up as Spec.Args.
	Args []string
	// Stdin gives the program an input, see Execution.Stdin. Otherwise it reads /dev/null.
	Stdin bool
	// TTY gives the program a terminal of the container as input and output. All output
	// is written to stdout then.
	TTY bool
}

// Execution is a program that runs in a container beside the container's own.
type Execution struct {
	cmd      *exec.Cmd
	stdin    io.WriteCloser
	terminal *os.File // nil without a terminal
	outputs  []*output
	copying  sync.WaitGroup
	wait     func() (Exit, error)
	// release ends the watch of the context.
	release func() bool

	mu sync.Mutex
	// ended is true once the program has ended; its process group may not be signaled
	// any more then.
	ended bool
}

// Exec runs a program in the namespaces and the root of the container, as its user, with
// its environment and working directory. The program leads a session of its own. When it
// returns nil, the program runs. If the program cannot be run, the error is a *StartError.
// If the container has ended, errors.Is(err, os.ErrProcessDone).
//
// The end of ctx kills the program's process group, also later. The end of the container
// kills all of its processes. The caller must call Wait.
func (p *Process) Exec(ctx context.Context, spec ExecSpec, stdout, stderr io.Writer) (*Execution, error) {
	inside := p.spec
	inside.Args = spec.Args
	inside.TTY = spec.TTY
	if err := inside.validate(); err != nil {
		return nil, &StartError{Reason: ReasonCreate, ID: p.spec.ID, Err: err}
	}
	e := &Execution{cmd: exec.Command(self, InitArg)}
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: spec.TTY}
	var given []io.Closer // the program's ends of its pipes or terminal
	run := func() error {
		return p.join(cloneFlags|unix.CLONE_NEWNET, func() (err error) {
			if spec.TTY {
				given, err = e.openTerminal(inside, stdout)
			} else {
				given, err = e.openPipes(spec, stdout, stderr)
			}
			if err != nil {
				return err
			}
			return e.cmd.Start()
		})
	}
	_, err := launch(ctx, order{Spec: inside, Join: true}, e.cmd, run)
	for _, c := range given {
		c.Close()
	}
	if err != nil {
		e.closeFiles()
		return nil, e.explain(ctx, err)
	}
	for _, out := range e.outputs {
		e.copying.Go(out.copy)
	}
	e.release = context.AfterFunc(ctx, e.abort)
	e.wait = sync.OnceValues(e.await)
	return e, nil
}

// explain adds os.ErrProcessDone to the error of a start that the kernel has killed, as it
// does when the container ends meanwhile.
func (e *Execution) explain(ctx context.Context, err error) error {
	if errors.Is(err, errEarlyEnd) && ctx.Err() == nil && exitOf(e.cmd.ProcessState.Sys().(syscall.WaitStatus)).Signal == syscall.SIGKILL {
		return fmt.Errorf("%w: %w", os.ErrProcessDone, err)
	}
	return err
}

// Stdin returns the program's input, nil without one. Closing it ends the input, unless it
// is a terminal.
func (e *Execution) Stdin() io.WriteCloser { return e.stdin }

// Wait waits until the program has ended and its output is written. It waits for other
// processes that have the output open only as long as they write to it. Wait may be called
// several times.
func (e *Execution) Wait() (Exit, error) { return e.wait() }

func (e *Execution) await() (Exit, error) {
	if err := waitEnded(e.cmd.Process.Pid); err != nil {
		return Exit{Code: -1}, err
	}
	e.mu.Lock()
	e.ended = true
	e.mu.Unlock()
	err := e.cmd.Wait()
	for _, out := range e.outputs {
		out.programEnded(outputDelay)
	}
	e.copying.Wait()
	e.release()
	e.closeFiles()
	if e.cmd.ProcessState == nil {
		return Exit{Code: -1}, fmt.Errorf("wait for the program: %w", err)
	}
	return exitOf(e.cmd.ProcessState.Sys().(syscall.WaitStatus)), nil
}

// waitEnded waits until a child has ended and leaves it a zombie. Until it is reaped, no
// other process gets its id, and its process group can be signaled.
func waitEnded(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("waitid", err)
		}
	}
}

// abort kills the program's process group and ends the copies of its output.
func (e *Execution) abort() {
	e.mu.Lock()
	if !e.ended {
		_ = unix.Kill(-e.cmd.Process.Pid, unix.SIGKILL)
	}
	e.mu.Unlock()
	for _, out := range e.outputs {
		out.abort()
	}
}

// openPipes connects the command's input and outputs to pipes.
func (e *Execution) openPipes(spec ExecSpec, stdout, stderr io.Writer) (given []io.Closer, err error) {
	if spec.Stdin {
		read, write, err := os.Pipe()
		if err != nil {
			return given, fmt.Errorf("create a pipe: %w", err)
		}
		e.cmd.Stdin, e.stdin, given = read, write, append(given, read)
	}
	for _, to := range []struct {
		writer io.Writer
		field  *io.Writer
	}{{stdout, &e.cmd.Stdout}, {stderr, &e.cmd.Stderr}} {
		if to.writer == nil {
			continue
		}
		read, write, err := os.Pipe()
		if err != nil {
			return given, fmt.Errorf("create a pipe: %w", err)
		}
		*to.field, given = write, append(given, write)
		e.outputs = append(e.outputs, &output{from: read, to: to.writer})
	}
	return given, nil
}

// closeFiles closes the caller's ends of the pipes or the terminal.
func (e *Execution) closeFiles() {
	if e.stdin != nil {
		_ = e.stdin.Close()
	}
	if e.terminal != nil {
		_ = e.terminal.Close()
	}
	for _, out := range e.outputs {
		_ = out.from.Close()
	}
}

// enter makes the calling process, which is in the container's namespaces and root, one of
// its programs.
func (o order) enter() error {
	unix.Umask(0o022)
	return o.becomeProgram()
}

// The exit codes of a shell for a program that cannot be run.
const (
	exitCannotRun = 126
	exitNotFound  = 127
)

// exitCode returns the exit code of a shell for the error of a program that cannot be run.
func exitCode(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return exitNotFound
	}
	return exitCannotRun
}
