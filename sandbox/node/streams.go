package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	"k8s.io/apimachinery/pkg/types"
	remotecommandconsts "k8s.io/apimachinery/pkg/util/remotecommand"
	clientremotecommand "k8s.io/client-go/tools/remotecommand"
	"k8s.io/kubelet/pkg/cri/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// streamCreationTimeout limits the wait for a client's streams, after kubelet's default.
const streamCreationTimeout = 30 * time.Second

// session is one kubectl exec or attach. The request's context ends when the client goes
// away.
type session struct {
	run     *containerRun
	options *remotecommand.Options
	// feeding are the goroutines that read from the client. They end when the
	// connection is closed.
	feeding sync.WaitGroup
}

// serveExec runs a program in a container: kubectl exec and cp.
func (p *provider) serveExec(w http.ResponseWriter, r *http.Request) {
	p.serveStreams(w, r, func(s *session) {
		remotecommand.ServeExec(w, r, s, "", "", s.run.name, r.URL.Query()["command"], s.options,
			streamTimeout, streamCreationTimeout, remotecommandconsts.SupportedStreamingProtocols)
	})
}

// serveAttach connects a client to a container's own program: kubectl attach.
func (p *provider) serveAttach(w http.ResponseWriter, r *http.Request) {
	p.serveStreams(w, r, func(s *session) {
		remotecommand.ServeAttach(w, r, s, "", "", s.run.name, s.options,
			streamTimeout, streamCreationTimeout, remotecommandconsts.SupportedStreamingProtocols)
	})
}

// serveStreams calls serve, which closes the connection, and waits for the session's
// goroutines.
func (p *provider) serveStreams(w http.ResponseWriter, r *http.Request, serve func(*session)) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	run, err := p.runningContainer(r.Context(), r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container"))
	switch {
	case errdefs.IsNotFound(err):
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s := &session{run: run, options: options}
	defer s.feeding.Wait()
	serve(s)
}

// runningContainer returns the current run of a container.
func (p *provider) runningContainer(ctx context.Context, namespace, podName, name string) (*containerRun, error) {
	pod, err := p.podOf(namespace, podName)
	if err != nil {
		return nil, err
	}
	status, err := p.containerStatus(pod, name)
	if err != nil {
		return nil, err
	}
	if w := p.byUID(pod.UID); w != nil {
		if run := w.runOf(ctx, name); run != nil {
			return run, nil
		}
	}
	return nil, errdefs.InvalidInputf("container %q in pod %s/%s is not running: %s", name, namespace, podName, plan.Describe(status.State))
}

// ExecInContainer runs a program in the session's container.
func (s *session) ExecInContainer(ctx context.Context, _ string, _ types.UID, _ string, command []string, in io.Reader,
	out, errOut io.WriteCloser, tty bool, resize <-chan clientremotecommand.TerminalSize, _ time.Duration) error {
	asked := Exec{Args: command, Stdin: s.options.Stdin, TTY: tty}
	if s.options.Stdout {
		asked.Stdout = out
	}
	if s.options.Stderr {
		asked.Stderr = errOut
	}
	e, err := s.run.process.Exec(ctx, asked)
	var program *ProgramError
	switch {
	case errors.As(err, &program):
		return program.report(asked)
	case errors.Is(err, os.ErrProcessDone):
		return fmt.Errorf("container %q has ended", s.run.name)
	case err != nil:
		return err
	}
	if asked.Stdin {
		s.feeding.Go(func() { feed(e.Stdin(), in) })
	}
	if tty {
		s.feeding.Go(func() {
			for size := range resize {
				_ = e.Resize(size.Width, size.Height) // the program may have ended
			}
		})
	}
	if code := plan.ExitCode(e.Wait()); code != 0 {
		return utilexec.CodeExitError{Code: int(code), Err: fmt.Errorf("exit code %d", code)}
	}
	return nil
}

// report writes the reason to the client as a container runtime words it, and returns the
// exit code.
func (e *ProgramError) report(asked Exec) error {
	to, end := asked.Stderr, "\n"
	if asked.TTY {
		to, end = asked.Stdout, "\r\n"
	}
	if to != nil {
		_, _ = fmt.Fprintf(to, "exec failed: unable to start container process: %v%s", e.Err, end)
	}
	return utilexec.CodeExitError{Code: e.Code, Err: e}
}

// feed copies a client's input to a program. When the program does not want it any more,
// it is discarded: otherwise it would hold up the connection's other streams.
func feed(to io.WriteCloser, from io.Reader) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_, _ = io.Copy(io.Discard, from)
}

// AttachContainer passes the output of the container's program to the client from now on,
// and the client's input to the program if that has an input.
func (s *session) AttachContainer(ctx context.Context, _ string, _ types.UID, _ string, in io.Reader,
	out, errOut io.WriteCloser, _ bool, resize <-chan clientremotecommand.TerminalSize) error {
	if stdin := s.run.process.Stdin(); s.options.Stdin && stdin != nil {
		if !s.run.spec.StdinOnce {
			stdin = keepOpen{stdin}
		}
		s.feeding.Go(func() { feed(stdin, in) })
	}
	if resize != nil {
		s.feeding.Go(func() {
			for size := range resize {
				_ = s.run.process.Resize(size.Width, size.Height) // the program may have ended
			}
		})
	}
	var outputs []attachment
	if s.options.Stdout {
		outputs = append(outputs, attachment{s.run.stdout, out})
	}
	if s.options.Stderr {
		outputs = append(outputs, attachment{s.run.stderr, errOut})
	}
	return attach(ctx, s.run.life, outputs)
}

// keepOpen ignores Close: the input stays open for the next client.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }
