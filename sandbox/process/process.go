// Package process runs a program and restarts it when it ends.
//
// It does not stop programs in any order. It also does not end them when the supervisor dies: the
// kernel does, because the supervisor is the first process of its PID namespace.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/klog/v2"
)

// logTail is the number of bytes of a program's log in an error.
const logTail = 1500

// Spec configures a program.
type Spec struct {
	// Name is the name in errors and logs, for example cluster1/work-agent.
	Name string
	// Path is the program, Args its arguments.
	Path string
	Args []string
	// Env is added to the supervisor's environment.
	Env []string
	// Log is the file to which stdout and stderr are appended.
	Log string
	// Switch lets another process stop and start the program.
	Switch Switch
	// Inside, if not nil, calls a function on a thread in the namespaces in which the
	// program is to run.
	Inside func(func() error) error
	// Prepare, if not nil, is called before each start and returns further arguments;
	// missing names what the program waits for, and is empty when it can start. fresh
	// is true for the first start and for one after the switch was off, and false for
	// a restart: the difference between a new pod and a new container in the same pod.
	Prepare func(fresh bool) (args []string, missing string, err error)
	// Liveness, if not empty, is a URL that a healthy program answers with 200.
	Liveness string
}

// prepare calls Prepare if it is not nil.
func (s Spec) prepare(fresh bool) (args []string, missing string, err error) {
	if s.Prepare == nil {
		return nil, "", nil
	}
	args, missing, err = s.Prepare(fresh)
	if err != nil {
		return nil, "", fmt.Errorf("prepare %s: %w", s.Name, err)
	}
	return args, missing, s.Switch.waiting(missing)
}

// LoopError is the error of a crash-looping program.
type LoopError struct {
	Name, Log, Tail string
	Cause           error
}

func (e *LoopError) Error() string {
	text := fmt.Sprintf("%s died %d times within %s, the last time with: %v; the end of its log %s:\n%s",
		e.Name, deathsTolerated+1, deathsWindow, e.Cause, e.Log, e.Tail)
	if strings.Contains(e.Tail, syscall.EMFILE.Error()) {
		text += "\n" + inotifyHint
	}
	return text
}

// inotifyHint explains EMFILE. Its usual cause is that OCM's webhook servers cannot watch their certificates. See also
// https://kind.sigs.k8s.io/docs/user/known-issues/#pod-errors-due-to-too-many-open-files
const inotifyHint = "(probably this user has no inotify instance left, for example because of another sandbox: end that, " +
	"or run sysctl fs.inotify.max_user_instances=512. Otherwise raise ulimit -n)"

// Keep runs the program until ctx ends. It restarts the program whenever it ends, unless its switch is
// off. If the program dies four times in a minute, Keep calls onLoop and restarts it more slowly. Keep
// returns an error only if the program cannot be started at all.
func Keep(ctx context.Context, spec Spec, onLoop func(*LoopError)) error {
	logger := klog.FromContext(ctx).WithValues("program", spec.Name)
	if err := spec.Switch.kept(); err != nil {
		return err
	}
	var died deaths
	fresh := true
	for spec.Switch.waitOn(ctx) {
		fresh = spec.Switch.restarted() || fresh
		args, missing, err := spec.prepare(fresh)
		if err != nil {
			return err
		}
		if missing != "" {
			pause(ctx, switchPeriod)
			continue
		}
		started := spec
		started.Args = append(slices.Clone(spec.Args), args...)
		cause, err := runOnce(ctx, started)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			break
		}
		if fresh = spec.Switch.Stopped(); fresh {
			logger.Info("Stopped program on request")
			continue
		}
		died = died.add(time.Now())
		logger.Info("Restarting ended program", "cause", cause.Error(), "pause", died.pause())
		if died.looping() {
			onLoop(&LoopError{Name: spec.Name, Log: spec.Log, Tail: tail(spec.Log), Cause: cause})
		}
		pause(ctx, died.pause())
	}
	return nil
}

// pause waits for the time or until ctx ends.
func pause(ctx context.Context, wait time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(wait):
	}
}

// runOnce runs the program to its end. cause is how it ended; err is not nil if it could not be
// started.
func runOnce(ctx context.Context, spec Spec) (cause, err error) {
	if err := os.MkdirAll(filepath.Dir(spec.Log), 0o700); err != nil {
		return nil, fmt.Errorf("create the log directory of %s: %w", spec.Name, err)
	}
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", spec.Name, err)
	}
	defer func() { _ = log.Close() }()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(ctx, spec.Path, spec.Args...)
	cmd.Env = append(os.Environ(), spec.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 3 * time.Second
	start := cmd.Start
	if spec.Inside != nil {
		start = func() error { return spec.Inside(cmd.Start) }
	}
	if err := start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := spec.Switch.running(cmd.Process.Pid); err != nil {
		stop()
		return nil, errors.Join(err, <-ended)
	}
	var probing sync.WaitGroup
	var unhealthy error
	if spec.Liveness != "" {
		probing.Go(func() {
			unhealthy = probe(ctx, spec.Liveness)
			stop()
		})
	}
	err = spec.Switch.watch(ended, stop)
	stop()
	probing.Wait()
	if doneErr := spec.Switch.ended(); doneErr != nil {
		return nil, doneErr
	}
	if unhealthy != nil {
		return unhealthy, nil
	}
	if err != nil {
		return err, nil
	}
	return errors.New("exit status 0"), nil
}

// tail returns the end of a log file, from the beginning of a line.
func tail(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Sprintf("(%v)", err)
	}
	defer func() { _ = f.Close() }()
	if size, err := f.Seek(0, io.SeekEnd); err == nil && size > logTail {
		_, _ = f.Seek(-logTail, io.SeekEnd)
	} else {
		_, _ = f.Seek(0, io.SeekStart)
	}
	content, err := io.ReadAll(f)
	if err != nil {
		return fmt.Sprintf("(%v)", err)
	}
	text := string(content)
	if _, after, ok := strings.Cut(text, "\n"); ok && len(content) == logTail {
		text = after
	}
	return strings.TrimRight(text, "\n")
}
