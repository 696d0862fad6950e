// Package runner runs a command on a sandbox of its own, and removes the sandbox afterwards.
//
// A second process, the guard, removes it, also when the first one is killed. The package does not read
// the command's output.
package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"open-cluster-management.io/helloworld-addon/sandbox/launcher"
	"open-cluster-management.io/helloworld-addon/sandbox/statedir"
)

// Options configures a run.
type Options struct {
	// Command and its arguments.
	Command []string
	// Keep leaves the sandbox running after the command.
	Keep bool
	// KeepLogs is the directory that gets logs and objects when the command fails; if it is empty, a new one
	// below the directory for temporary files does.
	KeepLogs string
	// Messages receives the messages of the run.
	Messages io.Writer
	// Up starts a sandbox in the directory dir, and returns the variables of the command. When it fails, it
	// has removed the sandbox.
	Up func(ctx context.Context, dir string) (variables []string, err error)
	// Collect writes logs and objects of the sandbox in dir into a directory.
	Collect func(ctx context.Context, dir, to string) error
}

// ExitError is the status with which the command ended.
type ExitError struct{ Code int }

func (e *ExitError) Error() string {
	return fmt.Sprintf("the command failed with exit code %d", e.Code)
}

// collectTimeout limits the collection after a failure.
const collectTimeout = 3 * time.Minute

// Run starts a sandbox, runs the command on it, and removes the sandbox. The error is an *ExitError if the
// command failed. A signal to this process goes to the command, and before the command has started it ends ctx.
func Run(ctx context.Context, options Options) (err error) {
	// a name alone may be that of a program that only the variables' PATH has, as kubectl
	if name := options.Command[0]; strings.Contains(name, "/") {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("find the command to run: %w", err)
		}
	}
	if options.KeepLogs != "" {
		if entries, err := os.ReadDir(options.KeepLogs); err == nil && len(entries) > 0 {
			return fmt.Errorf("--keep-logs=%s: the directory is not empty: name a new one", options.KeepLogs)
		}
	}
	parent, err := os.MkdirTemp("", "ocm-sandbox-run-")
	if err != nil {
		return fmt.Errorf("create a directory for the sandbox: %w", err)
	}
	guard, err := startGuard(parent)
	if err != nil {
		return errors.Join(err, os.Remove(parent))
	}
	order := orderRemove
	defer func() { err = errors.Join(err, guard.finish(order)) }()
	dir := sandboxDir(parent)
	variables, err := options.Up(ctx, dir)
	if err != nil {
		return err
	}
	program, err := lookPath(options.Command[0], variables)
	if err != nil {
		return fmt.Errorf("find the command to run: %w", err)
	}
	err = execute(ctx, program, options.Command[1:], variables)
	if err != nil && ctx.Err() == nil {
		options.say("%v", err)
		options.keepLogs(ctx, dir)
	}
	if options.Keep {
		order = orderKeep
		options.say("the sandbox is kept: ocm-sandbox --dir=%s down ends it", dir)
	}
	return err
}

// sandboxDir returns the sandbox's directory in the directory of a run.
func sandboxDir(parent string) string { return filepath.Join(parent, "sandbox") }

func (o *Options) say(format string, args ...any) {
	_, _ = fmt.Fprintf(o.Messages, "ocm-sandbox: "+format+"\n", args...)
}

// keepLogs collects logs and objects, and says where. It goes on when that fails: the command's error matters more.
func (o *Options) keepLogs(ctx context.Context, dir string) {
	ctx, cancel := context.WithTimeout(ctx, collectTimeout)
	defer cancel()
	to := o.KeepLogs
	if to == "" {
		var err error
		if to, err = os.MkdirTemp("", "ocm-sandbox-logs-"); err != nil {
			o.say("cannot keep the logs: %v", err)
			return
		}
	}
	if err := o.Collect(ctx, dir, to); err != nil {
		o.say("not all logs and objects could be kept: %v", err)
	}
	o.say("logs and objects are in %s", to)
}

// execute runs a program and forwards signals to it.
func execute(ctx context.Context, program string, args, variables []string) error {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	if ctx.Err() != nil {
		return errors.New("interrupted: the command was not started")
	}
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), variables...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run the command: %w", err)
	}
	ended := make(chan struct{})
	forwarded := make(chan struct{})
	go func() {
		defer close(forwarded)
		forward(signals, ended, cmd.Process)
	}()
	err := cmd.Wait()
	close(ended)
	<-forwarded
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	return &ExitError{Code: exitCode(exit.Sys().(syscall.WaitStatus))}
}

// lookPath returns the file of a command, also if only the PATH of the variables leads to it.
func lookPath(name string, variables []string) (string, error) {
	file, err := exec.LookPath(name)
	if err == nil || strings.Contains(name, "/") {
		return file, err
	}
	for _, variable := range variables {
		path, _ := strings.CutPrefix(variable, "PATH=")
		for _, dir := range filepath.SplitList(path) {
			if file, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return file, nil
			}
		}
	}
	return "", err
}

// exitCode returns the exit code of a command as a shell does
// (https://www.gnu.org/software/bash/manual/html_node/Exit-Status.html).
func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// forward sends signals on until the command has ended. It leaves out those that the terminal sends to the
// command too.
func forward(signals <-chan os.Signal, ended <-chan struct{}, process *os.Process) {
	for {
		select {
		case <-ended:
			return
		case s := <-signals:
			if (s == os.Interrupt || s == syscall.SIGQUIT) && inForeground() {
				continue
			}
			_ = process.Signal(s) // it may have ended
		}
	}
}

// Guard waits until its input ends, and then removes the sandbox below parent, unless the input has orderKeep. When
// there is no order, the process that wrote it was killed: Guard then kills what the command has left too.
func Guard(input io.Reader, parent string) error {
	order, err := io.ReadAll(input)
	if err != nil {
		return fmt.Errorf("wait for the run: %w", err)
	}
	if string(order) == orderKeep {
		return nil
	}
	dir := sandboxDir(parent)
	if len(order) == 0 {
		killAll(func() []statedir.Process { return statedir.ProcessesWith("SANDBOX_DIR=" + dir) })
	}
	if err := launcher.Down(launcher.Options{Dir: dir, Out: io.Discard}); err != nil {
		return err
	}
	// not the logs of a start that failed
	if err := os.Remove(parent); err != nil && !errors.Is(err, syscall.ENOTEMPTY) {
		return fmt.Errorf("remove the directory of the run: %w", err)
	}
	return nil
}

// killRounds is the number of times that killAll looks for processes. Two are enough unless they start others faster
// than it kills.
const killRounds = 100

// killAll kills what find finds: the processes of the command, which have the sandbox's directory in their environment. A
// process that was started while find read the list has its turn in the next round.
func killAll(find func() []statedir.Process) {
	for range killRounds {
		processes := find()
		if len(processes) == 0 {
			return
		}
		for _, process := range processes {
			_ = syscall.Kill(process.PID, syscall.SIGKILL) // it may have ended
		}
		time.Sleep(10 * time.Millisecond)
	}
}
