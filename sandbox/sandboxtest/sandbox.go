package sandboxtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"open-cluster-management.io/helloworld-addon/sandbox/statedir"
)

const (
	// commandTimeout limits one command on a running sandbox.
	commandTimeout = 2 * time.Minute
	// startTimeout limits the start of a sandbox, with the first build of its programs.
	startTimeout = time.Hour
	// endTimeout limits the end of a sandbox.
	endTimeout = time.Minute
	// interruptGrace is the time that an interrupted command gets to end what it started.
	interruptGrace = 30 * time.Second
)

// Sandbox is a running sandbox: hubs and managed clusters. Several tests may use it at once.
type Sandbox struct {
	program        program
	dir            string
	hubs, clusters []*Cluster
	// holder runs as long as the sandbox, and ends it when its standard input ends. It is nil for a
	// sandbox that is left running.
	holder       *holder
	alreadyShown alreadyShown
}

// Start starts a sandbox for the test and ends it with the test. It returns when all clusters have joined
// the hub, which takes 10 to 20 s. The first start on a machine also builds etcd, Kubernetes and OCM, for
// about 10 minutes. With more than one sandbox at a time, see the limits about inotify in
// sandbox/docs/how-it-works.md.
func Start(t testing.TB, opts ...Option) *Sandbox {
	t.Helper()
	ctx, cancel := startContext(t)
	defer cancel()
	s, err := start(ctx, newOptions(opts), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		t.Helper()
		if t.Failed() {
			s.keep(t)
		}
		if err := s.end(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// errDeadline is the cause of the end of a start at the deadline of go test.
var errDeadline = errors.New("the deadline of go test comes before the sandbox is ready")

// startContext returns a context for starting a sandbox. It ends with the test, and shortly before the
// deadline of go test.
func startContext(t testing.TB) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeoutCause(t.Context(), limit(t, startTimeout, deadlineMargin), errDeadline)
}

// starting returns a context for the start, which ends with ctx, and a function for its end, which adds to its
// error what to do if the deadline has ended it.
func (s *Sandbox) starting(ctx context.Context) (inner context.Context, explain func(error) error) {
	inner, end := context.WithCancelCause(context.WithoutCancel(ctx))
	built := false
	stop := context.AfterFunc(ctx, func() {
		// before up is interrupted and removes it
		record, err := statedir.Read(s.dir)
		built = err == nil && record.PID != 0
		end(context.Cause(ctx))
	})
	return inner, func(err error) error {
		stop()
		if err == nil || !errors.Is(context.Cause(inner), errDeadline) {
			return err
		}
		return atDeadline(err, s.program.path, built)
	}
}

// atDeadline adds what to do to the error of a start that the deadline has ended. built tells whether all
// programs were built before.
func atDeadline(err error, program string, built bool) error {
	if built {
		return fmt.Errorf("%w: its programs are built; the clusters were starting, which takes 10 to 20 s, or their images were being made; "+
			"the last %s before the deadline are for reports: run go test -timeout=10m: %w", errDeadline, deadlineMargin, err)
	}
	return fmt.Errorf("%w: etcd, Kubernetes and OCM were being checked or built; the first start on a machine builds them in about 10 minutes: "+
		"run %s setup before, or go test -timeout=30m: %w", errDeadline, program, err)
}

// start starts a sandbox in a new directory. The messages of its start are written to log.
func start(ctx context.Context, o options, log io.Writer) (*Sandbox, error) {
	if err := o.validate(ctx); err != nil {
		return nil, err
	}
	program, err := findProgram(ctx)
	if err != nil {
		return nil, err
	}
	// not t.TempDir: its path is too long for the sandbox's sockets
	dir, err := os.MkdirTemp("", "ocm-sandbox-")
	if err != nil {
		return nil, fmt.Errorf("create a directory for a sandbox: %w", err)
	}
	s := &Sandbox{program: program, dir: dir}
	ctx, explain := s.starting(ctx)
	if s.holder, err = hold(ctx, s.command("up", append([]string{"--until-eof"}, o.upFlags()...)...), log); err != nil {
		return nil, explain(errors.Join(err, os.RemoveAll(dir)))
	}
	if _, err := statedir.Read(dir); err != nil {
		// up has ended, and has removed the directory unless it rejected its flags
		return nil, explain(errors.Join(s.holder.release(), os.RemoveAll(dir)))
	}
	if err := s.open(ctx, o); err != nil {
		return nil, errors.Join(explain(err), s.end())
	}
	return s, explain(nil)
}

// open reads which clusters the sandbox has, and gives it the images.
func (s *Sandbox) open(ctx context.Context, o options) error {
	record, err := statedir.Read(s.dir)
	if err != nil {
		return err
	}
	if s.hubs, s.clusters, err = s.members(record, o.hubAs); err != nil {
		return err
	}
	for _, image := range o.images {
		if err := image.source.add(ctx, s, image.ref); err != nil {
			return fmt.Errorf("image %s: %w", image.ref, err)
		}
	}
	return nil
}

// end ends the sandbox and removes its files, unless it is left running.
func (s *Sandbox) end() error {
	if s.holder == nil {
		return nil
	}
	if err := s.holder.release(); err != nil {
		return fmt.Errorf("end the sandbox: %w: end it with: %s", err, s.commandLine("down"))
	}
	return nil
}

// Hub returns the first hub, on which all add-ons are enabled.
func (s *Sandbox) Hub() *Cluster { return s.hubs[0] }

// Hubs returns all hubs.
func (s *Sandbox) Hubs() []*Cluster { return s.hubs }

// Clusters returns the managed clusters, with HubAs also the hub under its name as a managed cluster.
func (s *Sandbox) Clusters() []*Cluster { return s.clusters }

// Cluster returns the hub or managed cluster with this name, for example cluster1.
func (s *Sandbox) Cluster(t testing.TB, name string) *Cluster {
	t.Helper()
	found, err := s.find(name)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (s *Sandbox) find(name string) (*Cluster, error) {
	var names []string
	for _, cluster := range slices.Concat(s.hubs, s.clusters) {
		if cluster.name == name {
			return cluster, nil
		}
		names = append(names, cluster.name)
	}
	return nil, fmt.Errorf("no cluster %q in this sandbox: there are %s", name, strings.Join(names, ", "))
}

// command returns a command of ocm-sandbox.
func (s *Sandbox) command(name string, args ...string) *exec.Cmd {
	return exec.Command(s.program.path, append(append(s.program.flags(s.dir), name), args...)...)
}

// commandLine returns a command of ocm-sandbox as a user would type it.
func (s *Sandbox) commandLine(name string) string {
	return s.program.path + " --dir=" + s.dir + " " + name
}

// run runs a command of ocm-sandbox and returns its output. The error has its message.
func (s *Sandbox) run(ctx context.Context, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	return output(ctx, s.command(name, args...))
}

// output runs a command, which is interrupted when ctx ends and killed after its WaitDelay, and returns its
// output.
func output(ctx context.Context, cmd *exec.Cmd) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = cmp.Or(cmd.WaitDelay, interruptGrace)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("run %s: %w", cmd.Path, err)
	}
	stop := context.AfterFunc(ctx, func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended, here and below
		time.AfterFunc(cmd.WaitDelay, func() { _ = cmd.Process.Kill() })
	})
	defer stop()
	if err := cmd.Wait(); err != nil {
		return nil, errors.Join(context.Cause(ctx), commandError(cmd, err, stderr.String()))
	}
	return stdout.Bytes(), nil
}

// commandError returns the message of a command that failed.
func commandError(cmd *exec.Cmd, err error, stderr string) error {
	message := strings.TrimPrefix(strings.TrimSpace(stderr), "error: ")
	return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, message)
}

// holder is a running ocm-sandbox up --until-eof.
type holder struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr *bytes.Buffer
}

// hold starts the command and waits until it closes its standard output: the sandbox is ready, or the
// command has ended without one. The kernel closes the command's standard input when this process ends,
// even if it is killed.
func hold(ctx context.Context, cmd *exec.Cmd, log io.Writer) (*holder, error) {
	h := &holder{cmd: cmd, stderr: &bytes.Buffer{}}
	cmd.Stderr = h.stderr
	cmd.WaitDelay = interruptGrace
	// a session of its own: a signal to this process's group does not kill it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start a sandbox: %w", err)
	}
	h.stdin = stdin
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start a sandbox: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a sandbox: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = stdin.Close() })
	defer stop()
	_, _ = io.Copy(log, stdout) // the command's own error matters
	return h, nil
}

// release ends the sandbox and waits for that.
func (h *holder) release() error {
	_ = h.stdin.Close() // a command that has ended has closed it
	timer := time.AfterFunc(endTimeout, func() { _ = h.cmd.Process.Kill() })
	defer timer.Stop()
	if err := h.cmd.Wait(); err != nil {
		return commandError(h.cmd, err, h.stderr.String())
	}
	return nil
}

// do runs a command of ocm-sandbox, also after the end of the test's context.
func (s *Sandbox) do(t testing.TB, name string, args ...string) []byte {
	t.Helper()
	out, err := s.run(context.WithoutCancel(t.Context()), name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
