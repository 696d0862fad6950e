package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// Kubelet's reasons of events about failed hooks.
const (
	reasonPostStart = "FailedPostStartHook"
	reasonPreStop   = "FailedPreStopHook"
)

// leastGrace is the time between SIGTERM and SIGKILL if a preStop hook or the containers that
// a sidecar serves have used up the grace period:
// https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/kubelet/kuberuntime/kuberuntime_manager.go
const leastGrace = 2 * time.Second

// startHook runs a hook, and calls then on the worker's goroutine unless the run has ended
// before.
func (w *worker) startHook(r *containerRun, hook *corev1.LifecycleHandler, then func(error)) {
	target := w.target(r)
	r.tasks.Go(func() {
		err := runHook(r.life, w.Clock, hook, target)
		select {
		case w.inbox <- func() {
			if w.runs[r.name] == r {
				then(err)
			}
		}:
		case <-r.life.Done():
		}
	})
}

// postStarted handles the end of the postStart hook.
func (w *worker) postStarted(r *containerRun, err error) {
	switch {
	case !r.killAt.IsZero():
		return
	case err != nil:
		w.hookFailed(r, reasonPostStart, "PostStartHook failed", err)
		w.events.normal(w.currentPod(), r.name, "Killing", reasonPostStart)
		w.stopRun(r, grace(w.currentPod()))
		return
	}
	state := w.states[r.name]
	state.PostStart = false
	w.states[r.name] = state
	w.startProbes(r)
}

// preStopped handles the end of the preStop hook.
func (w *worker) preStopped(r *containerRun, err error) {
	if err != nil {
		w.hookFailed(r, reasonPreStop, "PreStopHook failed", err)
	}
	r.preStop = false
	w.terminateRun(r)
}

// hookFailed records the event. As in kubelet, the cause is in the node's log alone,
// because it may contain secrets.
func (w *worker) hookFailed(r *containerRun, reason, message string, err error) {
	pod := w.currentPod()
	w.events.warn(pod, r.name, reason, message)
	klog.ErrorS(err, "Lifecycle hook failed", "pod", klog.KObj(pod), "container", r.name, "reason", reason)
}

func postStart(c corev1.Container) *corev1.LifecycleHandler {
	if c.Lifecycle == nil {
		return nil
	}
	return c.Lifecycle.PostStart
}

func preStop(c corev1.Container) *corev1.LifecycleHandler {
	if c.Lifecycle == nil {
		return nil
	}
	return c.Lifecycle.PreStop
}

// runHook runs a hook until it has ended or ctx ends.
func runHook(ctx context.Context, c clock.Clock, hook *corev1.LifecycleHandler, target probeTarget) error {
	switch {
	case hook.Exec != nil:
		return execOnce(ctx, target.process, hook.Exec.Command)
	case hook.HTTPGet != nil:
		return hookHTTP(ctx, hook.HTTPGet, target)
	case hook.Sleep != nil:
		select {
		case <-ctx.Done():
			return errors.New("the container ended before the sleep")
		case <-c.After(time.Duration(hook.Sleep.Seconds) * time.Second):
			return nil
		}
	}
	return errors.New("the hook has no action that this node supports") // cannot happen: the pod is refused
}

// hookHTTP sends the request of a hook. As in kubelet, every response is a success, and a
// server that answers HTTPS by HTTP is asked by HTTP.
func hookHTTP(ctx context.Context, action *corev1.HTTPGetAction, target probeTarget) error {
	const userAgent = "kube-lifecycle/sandbox"
	_, err := askHTTP(ctx, action, target, userAgent)
	if err != nil && strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		plain := action.DeepCopy()
		plain.Scheme = corev1.URISchemeHTTP
		_, err = askHTTP(ctx, plain, target, userAgent)
	}
	return err
}

// notRunError is the error of a program that could not be started, so that there is no
// result.
type notRunError struct{ err error }

func (e *notRunError) Error() string { return e.err.Error() }
func (e *notRunError) Unwrap() error { return e.err }

// execOnce runs a program in a container to its end. It returns an error unless the exit
// code is 0: a *notRunError if it could not be started.
func execOnce(ctx context.Context, p Process, command []string) error {
	out := &beginning{}
	e, err := p.Exec(ctx, Exec{Args: command, Stdout: out, Stderr: out})
	var exit plan.Exit
	if err == nil {
		exit = e.Wait()
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("command timed out: %q: %w", strings.Join(command, " "), context.Cause(ctx))
	case err != nil:
		return &notRunError{err}
	}
	return plan.CommandResult(exit, out.String())
}

// beginning keeps the beginning of what is written to it.
type beginning struct {
	mu   sync.Mutex
	kept bytes.Buffer
}

func (b *beginning) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := b.kept.Write(p[:min(len(p), maxProbeBody-b.kept.Len())])
	return len(p), err
}

func (b *beginning) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept.String()
}
