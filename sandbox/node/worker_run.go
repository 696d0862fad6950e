package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// containerRun is one run of a container, from its start to its end.
type containerRun struct {
	name, id, imageID string
	spec              corev1.Container
	process           Process
	started           time.Time

	dir, logPath, terminationFile string
	log                           *logFile
	stdout, stderr                *logStream

	// probes ends when the probes do, stopProbes ends it; tasks are all
	// goroutines of the run.
	probes     context.Context
	stopProbes context.CancelFunc
	tasks      sync.WaitGroup
	// killAt is when the process is killed, zero while it is not being stopped.
	killAt time.Time
	killed bool
}

// close writes the rest of the output.
func (r *containerRun) close() error {
	return errors.Join(r.stdout.flush(), r.stderr.flush(), r.log.out.Close())
}

// watch starts to wait for the run's end, and its probes.
func (w *worker) watch(ctx context.Context, r *containerRun) {
	r.probes, r.stopProbes = context.WithCancel(ctx)
	r.tasks.Go(func() {
		exit := r.process.Wait()
		w.inbox <- func() { w.exited(ctx, r, exit) } // the worker does not leave before
	})
	if r.spec.StartupProbe != nil {
		w.probe(r, startupProbe, r.spec.StartupProbe)
	} else {
		w.probeStarted(r)
	}
}

// probeStarted starts the probes of a container that has started.
func (w *worker) probeStarted(r *containerRun) {
	if r.spec.LivenessProbe != nil {
		w.probe(r, livenessProbe, r.spec.LivenessProbe)
	}
	if r.spec.ReadinessProbe != nil {
		w.probe(r, readinessProbe, r.spec.ReadinessProbe)
	}
}

func (w *worker) probe(r *containerRun, kind probeKind, probe *corev1.Probe) {
	ctx, cancel := context.WithCancel(r.probes)
	target := probeTarget{container: r.spec, podIP: w.network.IP().String()}
	r.tasks.Go(func() {
		defer cancel()
		runProbe(ctx, w.Clock, probeDelay(kind, probe, w.Clock.Since(r.started)), probe, target, func(count probeCount, err error) {
			select {
			case w.inbox <- func() { w.probed(ctx, cancel, r, kind, probe, count, err) }:
			case <-ctx.Done():
			}
		})
	})
}

// probed takes over the result of one probe; last ends the probe.
func (w *worker) probed(ctx context.Context, last context.CancelFunc, r *containerRun, kind probeKind, probe *corev1.Probe, count probeCount, err error) {
	if w.runs[r.name] != r || ctx.Err() != nil {
		return
	}
	pod := w.currentPod()
	if err != nil {
		w.events.warn(pod, r.name, "Unhealthy", fmt.Sprintf("%s probe failed: %v", kind, err))
	}
	if !count.Decided {
		return
	}
	state := w.states[r.name]
	switch {
	case kind == readinessProbe:
		if count.Result && !state.Ready {
			w.events.settled(r.name, "Unhealthy")
		}
		state.Ready = count.Result
	case !count.Result:
		last()
		w.events.normal(pod, r.name, "Killing", "Container %s failed %s probe, will be restarted", r.name, strings.ToLower(string(kind)))
		w.stopRun(r, probeGrace(pod, probe))
	case kind == startupProbe:
		last()
		state.Started, state.Ready = true, r.spec.ReadinessProbe == nil
		w.probeStarted(r)
	}
	w.states[r.name] = state
}

// exited notes the end of a run.
func (w *worker) exited(ctx context.Context, r *containerRun, exit Exit) {
	r.stopProbes()
	r.tasks.Wait()
	delete(w.runs, r.name)
	pod, now := w.currentPod(), w.Clock.Now()
	err := r.close()
	message := terminationMessage(r.spec, r.terminationFile, r.logPath, exitCode(exit) != 0)
	if err := errors.Join(err, os.RemoveAll(r.dir)); err != nil {
		klog.FromContext(ctx).Error(err, "Something of an ended container is left", "pod", klog.KObj(pod), "container", r.name)
	}
	restarts := w.end == nil && restartsAfter(&pod.Spec, r.name, exitCode(exit))
	w.states[r.name] = w.states[r.name].exited(exit, message, r.started, now, restarts, w.BackOff, r.name)
	w.tellBackOff(pod, r.name)
}

// tellBackOff records that a container waits for its next start, if it does.
func (w *worker) tellBackOff(pod *corev1.Pod, name string) {
	if waiting := w.states[name].State.Waiting; waiting == nil || waiting.Reason != reasonCrashLoopBackOff {
		return
	}
	w.events.warn(pod, name, "BackOff", fmt.Sprintf("Back-off restarting failed container %s in pod %s_%s(%s)", name, pod.Name, pod.Namespace, pod.UID))
}

// stopRun asks a process to end, and has it killed when it has not within the
// time. A second call can only shorten the time.
func (w *worker) stopRun(r *containerRun, within time.Duration) {
	at := w.Clock.Now().Add(within)
	if r.killAt.IsZero() {
		r.killAt = at
		w.signal(r, syscall.SIGTERM)
		return
	}
	if at.Before(r.killAt) {
		r.killAt = at
	}
}

// killDue kills a process whose time is over; otherwise it says when it will be.
func (w *worker) killDue(r *containerRun, now time.Time) time.Time {
	if r.killAt.IsZero() || r.killed {
		return time.Time{}
	}
	if now.Before(r.killAt) {
		return r.killAt
	}
	r.killed = true
	w.signal(r, syscall.SIGKILL)
	return time.Time{}
}

func (w *worker) signal(r *containerRun, signal syscall.Signal) {
	if err := r.process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		klog.ErrorS(err, "A container was not signalled", "pod", klog.KObj(w.currentPod()), "container", r.name, "signal", signal)
	}
}

// probeGrace is how long a container that failed a probe has to end.
func probeGrace(pod *corev1.Pod, probe *corev1.Probe) time.Duration {
	if probe.TerminationGracePeriodSeconds != nil {
		return time.Duration(*probe.TerminationGracePeriodSeconds) * time.Second
	}
	return grace(pod)
}

// stop ends the pod's processes within the time.
func (w *worker) stop(within time.Duration, why ending) {
	switch {
	case w.end == nil:
		w.end = &why
	default:
		w.end.Remove = w.end.Remove || why.Remove
		w.end.Abandon = w.end.Abandon || why.Abandon
	}
	pod := w.currentPod()
	for _, r := range w.runs {
		if r.killAt.IsZero() && !why.Abandon {
			w.events.normal(pod, r.name, "Killing", "Stopping container %s", r.name)
		}
		w.stopRun(r, within)
	}
}

// advanceEnd waits for the processes, and kills those that do not end in time.
func (w *worker) advanceEnd(ctx context.Context, now time.Time) time.Time {
	var again time.Time
	for _, r := range w.runs {
		again = earliest(again, w.killDue(r, now))
	}
	if len(w.runs) == 0 {
		w.finish(ctx)
	}
	return again
}
