package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

const (
	// setUpRetry is the delay before a failed set-up is retried. A change of an
	// object that the pod refers to wakes the worker earlier.
	setUpRetry = time.Second
	// configRetry is the delay before a container with an incomplete configuration
	// is retried.
	configRetry = 500 * time.Millisecond
	// slowRead is the time that the first read of an object may take before the
	// node reports it in an event.
	slowRead = 2 * time.Second
)

// sync takes every step that is possible now. It returns the time of the next sync,
// zero when only an event can make one necessary.
func (w *worker) sync(ctx context.Context) time.Time {
	w.follow(ctx)
	again := w.advance(ctx, w.Clock.Now())
	w.publish()
	w.writer.set(w.view())
	return again
}

// follow takes over what was added to the pod: containers, and the objects to watch.
func (w *worker) follow(ctx context.Context) {
	pod := w.currentPod()
	plan.AddNew(w.states, &pod.Spec)
	added := plan.References(&pod.Spec)
	maps.DeleteFunc(added, func(ref plan.Reference, _ bool) bool { return w.refs[ref] })
	w.store.acquire(ctx, pod.Namespace, added)
	maps.Copy(w.refs, added)
}

func (w *worker) advance(ctx context.Context, now time.Time) time.Time {
	switch {
	case w.finished:
		return time.Time{}
	case w.end != nil:
		return w.advanceEnd(ctx, now)
	case len(w.refused) > 0:
		message := unsupportedMessage(w.refused)
		w.events.warn(w.currentPod(), "", plan.ReasonUnsupported, "The pod is not started: "+message)
		w.block(plan.ReasonUnsupported, message)
		return time.Time{}
	}
	pod := w.currentPod()
	deadline := deadlineOf(&pod.Spec, w.started)
	if !deadline.IsZero() && !now.Before(deadline) {
		w.stop(grace(pod), ending{Reason: "DeadlineExceeded", Message: "Pod was active on the node longer than the specified deadline"})
		return w.advanceEnd(ctx, now)
	}
	if err := w.prepare(ctx, now); err != nil {
		return earliest(deadline, now.Add(setUpRetry))
	}
	again := w.startDue(ctx, now)
	for _, r := range w.runs {
		again = earliest(again, w.killDue(r, now))
	}
	return earliest(again, w.tokenDue, deadline)
}

// deadlineOf returns the end of the pod's activeDeadlineSeconds, zero without one.
func deadlineOf(spec *corev1.PodSpec, started time.Time) time.Time {
	if spec.ActiveDeadlineSeconds == nil {
		return time.Time{}
	}
	return started.Add(time.Duration(*spec.ActiveDeadlineSeconds) * time.Second)
}

// earliest returns the earliest of the times that are not zero.
func earliest(times ...time.Time) time.Time {
	var out time.Time
	for _, t := range times {
		if !t.IsZero() && (out.IsZero() || t.Before(out)) {
			out = t
		}
	}
	return out
}

// startDue starts every container that is due, and those that are due after their start. It
// returns the time of the next start. Back-off bounds the failed starts.
func (w *worker) startDue(ctx context.Context, now time.Time) time.Time {
	pod := w.currentPod()
	next := plan.Next(&pod.Spec, w.states, now)
	for len(next.Start) > 0 && ctx.Err() == nil {
		for _, name := range next.Start {
			w.start(ctx, pod, name)
		}
		next = plan.Next(&pod.Spec, w.states, now)
	}
	if next.Finished { // what still runs, such as a sidecar, ends with the others
		w.stop(grace(pod), ending{})
		return w.advanceEnd(ctx, now)
	}
	return next.Again
}

// prepare sets up the network and the volumes, and later updates the volumes. It
// returns an error, which delays the containers' start, only until the first
// success: a running pod keeps its volumes as they are.
func (w *worker) prepare(ctx context.Context, now time.Time) error {
	due := !w.tokenDue.IsZero() && !now.Before(w.tokenDue)
	if w.prepared && !w.stale && !due {
		return nil
	}
	reason, err := w.setUp(ctx, now)
	unread := errors.Is(err, errNotRead)
	switch {
	case err == nil:
		if !w.prepared {
			w.block("", "")
		}
		w.prepared, w.stale = true, false
		w.events.settled("", reasonMount)
		w.events.settled("", reasonSandbox)
		return nil
	case unread && !w.prepared && now.Sub(w.started) < slowRead:
		return err // usual right after the pod's creation: no event
	case !unread || !w.prepared: // else an added container has new objects
		w.events.warn(w.currentPod(), "", reason, err.Error())
	}
	if w.prepared {
		w.stale = false // an object wakes the worker when it is read or created
		if due {
			w.tokenDue = now.Add(setUpRetry)
		}
		return nil
	}
	w.block("", err.Error())
	return err
}

// Kubelet's reasons of events about a pod that cannot be set up.
const (
	reasonMount   = "FailedMount"
	reasonSandbox = "FailedCreatePodSandBox"
)

// errNotRead means that the node does not know yet whether an object exists.
var errNotRead = errors.New("not read yet")

// setUp makes one attempt. With an error it returns the reason of the event about it.
func (w *worker) setUp(ctx context.Context, now time.Time) (reason string, err error) {
	pod := w.currentPod()
	if err := os.MkdirAll(w.dir(), 0o755); err != nil {
		return reasonSandbox, fmt.Errorf("create the pod's directory: %w", err)
	}
	if w.network == nil {
		network, err := w.Network.Attach(pod.Namespace + "/" + pod.Name)
		if err != nil {
			return reasonSandbox, fmt.Errorf("attach the pod's network: %w", err)
		}
		w.network = network
	}
	in, err := w.inputs()
	if err != nil {
		return reasonMount, err
	}
	if err := w.findHostVolumes(ctx, pod); err != nil {
		return reasonMount, err
	}
	next, tokenErr := w.tokens.sync(ctx, pod, now)
	w.tokenDue = next
	if err := w.volumes.sync(in, w.tokens.have); err != nil {
		if tokenErr != nil {
			err = tokenErr
		}
		return reasonMount, err
	}
	if tokenErr != nil {
		return reasonMount, tokenErr
	}
	return "", nil
}

// inputs returns the inputs of the pod's environment and volumes. The error is
// errNotRead, with its cause, until all objects have been read.
func (w *worker) inputs() (plan.Inputs, error) {
	pod := w.currentPod()
	found, complete, err := w.store.get(pod.Namespace, w.refs)
	if !complete {
		if err == nil {
			err = errors.New("waiting for the API server")
		}
		return plan.Inputs{}, fmt.Errorf("read the Secrets and ConfigMaps of the pod: %w: %w", errNotRead, err)
	}
	return plan.Inputs{Pod: pod, Objects: found, At: w.at(), Allocatable: w.allocatable}, nil
}

// block sets the waiting reason and message of all containers that have not started
// yet. An empty reason keeps the present one.
func (w *worker) block(reason, message string) {
	for name, s := range w.states {
		if s.State.Waiting == nil || s.ID != "" {
			continue
		}
		r := reason
		if r == "" {
			r = s.State.Waiting.Reason
		}
		w.states[name] = s.Waiting(r, message, time.Time{})
	}
}

// finish releases the network and the files that only running containers need.
func (w *worker) finish(ctx context.Context) {
	w.finished = true
	var errs []error
	if w.network != nil {
		errs = append(errs, w.network.Close())
	}
	if !(w.end != nil && w.end.Abandon) {
		errs = append(errs, os.RemoveAll(w.dir()))
	}
	if err := errors.Join(errs...); err != nil {
		klog.FromContext(ctx).Error(err, "Cannot clean up after an ended pod", "pod", klog.KObj(w.currentPod()))
	}
}
