package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// startTimeout limits the set-up of a container's root and namespaces.
const startTimeout = 30 * time.Second

// waitError is the error of a container that cannot be started yet, with the
// reason for its waiting state.
type waitError struct {
	Reason string
	Err    error
}

func (e *waitError) Error() string { return e.Err.Error() }
func (e *waitError) Unwrap() error { return e.Err }

// start starts a container, or sets its state to the reason why it cannot.
func (w *worker) start(ctx context.Context, pod *corev1.Pod, name string) {
	now, state := w.Clock.Now(), w.states[name]
	c, err := plan.ContainerNamed(pod, name, corev1.Container{})
	if err != nil {
		return // cannot happen: a pod's containers keep their names
	}
	if refused := w.refusedEphemeral(pod, c); refused != "" {
		w.events.warn(pod, name, plan.ReasonUnsupported, "The container is not started: "+refused)
		w.states[name] = state.Waiting(plan.ReasonUnsupported, refused, time.Time{})
		return
	}
	r, err := w.launch(ctx, pod, c, state)
	var wait *waitError
	switch {
	case errors.Is(err, errNotRead):
		w.states[name] = state.Waiting(stillReason(state), "", now.Add(configRetry))
		return
	case errors.As(err, &wait) && wait.Reason == plan.ReasonErrImagePull:
		w.states[name] = state.PullFailed(c.Image, err, now.Add(configRetry))
		w.tellPull(pod, name, c.Image, err)
		return
	case errors.As(err, &wait):
		w.events.warn(pod, name, "Failed", "Error: "+err.Error())
		w.states[name] = state.Waiting(wait.Reason, err.Error(), now.Add(configRetry))
		return
	case err != nil:
		w.events.warn(pod, name, "Failed", "Error: "+err.Error())
		restarts := plan.RestartsAfter(&pod.Spec, name, plan.ExitStartError)
		w.states[name] = state.NotStarted(w.runID(pod, name, nextRun(state)), c.Image, err.Error(), now, restarts, w.BackOff, name)
		w.tellBackOff(pod, name)
		return
	}
	w.events.settled(name, "Failed")
	w.events.normal(pod, name, "Started", "Started container %s", name)
	w.runs[name] = r
	state = state.Running(r.id, c.Image, r.imageID, now)
	state.PostStart = postStart(c) != nil
	state.Started = c.StartupProbe == nil
	state.Ready = state.Started && c.ReadinessProbe == nil
	w.states[name] = state
	w.watch(ctx, r)
}

// refusedEphemeral returns why the node does not start an ephemeral container, empty if it
// does.
func (w *worker) refusedEphemeral(pod *corev1.Pod, c corev1.Container) string {
	if !plan.IsEphemeral(&pod.Spec, c.Name) {
		return ""
	}
	if refused := plan.UnsupportedEphemeral(c); len(refused) > 0 {
		return unsupportedMessage(refused)
	}
	return ""
}

func unsupportedMessage(refused []string) string {
	return "this node does not support " + strings.Join(refused, "; ")
}

// tellPull records events about an unknown image and the node's back-off.
func (w *worker) tellPull(pod *corev1.Pod, name, image string, err error) {
	w.events.warn(pod, name, "Failed", fmt.Sprintf("Failed to pull image %q: %v", image, err))
	if waiting := w.states[name].State.Waiting; waiting.Reason == plan.ReasonImagePullBackOff {
		w.events.warn(pod, name, "BackOff", waiting.Message)
	}
}

// stillReason returns the waiting reason that the container has already.
func stillReason(s plan.ContainerState) string {
	if s.State.Waiting != nil {
		return s.State.Waiting.Reason
	}
	return plan.ReasonContainerCreating
}

// nextRun returns the number of the container's next run; the first is 0.
func nextRun(s plan.ContainerState) int32 {
	if s.ID == "" {
		return 0
	}
	return s.Restarts + 1
}

func (w *worker) runID(pod *corev1.Pod, name string, run int32) string {
	return fmt.Sprintf("sandbox://%s-%s-%d", pod.UID, name, run)
}

// launch starts a container from its image, which it uses until the run ends.
func (w *worker) launch(ctx context.Context, pod *corev1.Pod, c corev1.Container, state plan.ContainerState) (*containerRun, error) {
	image, release, ok, err := w.Images.Use(c.Image)
	if err != nil {
		return nil, &waitError{plan.ReasonErrImagePull, err}
	}
	if !ok {
		known, similar := w.Images.Known(c.Image)
		reason, err := plan.MissingImage(c, known, similar)
		return nil, &waitError{reason, err}
	}
	r, err := w.launchFrom(ctx, image, pod, c, state)
	if err != nil {
		release()
		return nil, err
	}
	r.release = release
	return r, nil
}

// launchFrom builds a container's configuration from the pod and starts it.
func (w *worker) launchFrom(ctx context.Context, image plan.Image, pod *corev1.Pod, c corev1.Container, state plan.ContainerState) (*containerRun, error) {
	in, err := w.inputs()
	if err != nil {
		return nil, err
	}
	spec, err := w.containerSpec(pod, c, image, in)
	if err != nil {
		return nil, err
	}
	run := nextRun(state)
	r := &containerRun{
		name: c.Name, id: w.runID(pod, c.Name, run), imageID: "sandbox://" + image.Dir, spec: c,
		dir:     filepath.Join(w.dir(), "containers", c.Name, fmt.Sprint(run)),
		logPath: w.logs.file(pod, c.Name, run),
	}
	spec.ID, spec.Root = r.id, filepath.Join(r.dir, "root")
	if err := os.MkdirAll(spec.Root, 0o755); err != nil {
		return nil, &waitError{"CreateContainerError", fmt.Errorf("create the container's directory: %w", err)}
	}
	if r.terminationFile, err = makeTerminationFile(r.dir); err != nil {
		return nil, &waitError{"CreateContainerError", err}
	}
	if c.TerminationMessagePath != "" {
		spec.Mounts = append(spec.Mounts, Mount{Source: r.terminationFile, Target: c.TerminationMessagePath})
	}
	out, err := w.logs.create(pod, c.Name, run)
	if err != nil {
		return nil, &waitError{"CreateContainerError", err}
	}
	log := &logFile{clock: w.Clock, out: out}
	r.log, r.stdout, r.stderr = log, &tap{log: log.stream("stdout")}, &tap{log: log.stream("stderr")}
	startCtx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	r.started = w.Clock.Now()
	if r.process, err = w.Runtime.Start(startCtx, spec, w.network, r.stdout, r.stderr); err != nil {
		return nil, errors.Join(err, r.close(), os.RemoveAll(r.dir))
	}
	return r, nil
}

// containerSpec returns the configuration for the runtime, without the parts that
// belong to one run.
func (w *worker) containerSpec(pod *corev1.Pod, c corev1.Container, image plan.Image, in plan.Inputs) (Container, error) {
	id, err := plan.IdentityOf(&pod.Spec, c, image)
	if err != nil {
		return Container{}, &waitError{plan.ReasonConfigError, err}
	}
	env, err := plan.ResolveEnv(c, in, w.serviceEnv())
	if err != nil {
		return Container{}, &waitError{plan.ReasonConfigError, err}
	}
	argv, err := plan.CommandLine(c, image, env.Vars)
	if err != nil {
		return Container{}, &waitError{"CreateContainerError", err}
	}
	mounts, err := w.volumes.mounts(&pod.Spec, c, env.Vars)
	if err != nil {
		return Container{}, &waitError{plan.ReasonConfigError, err}
	}
	beside, err := w.beside(pod, c.Name)
	if err != nil {
		return Container{}, &waitError{plan.ReasonConfigError, err}
	}
	name, hostNames, err := plan.HostNames(pod, w.ClusterDomain)
	if err != nil {
		return Container{}, &waitError{plan.ReasonConfigError, err}
	}
	spec := Container{
		Beside: beside, Capabilities: plan.AddedCapabilities(c),
		Hostname: name, HostNames: hostNames, ResolvConf: plan.ResolvConf(pod, w.ClusterDNS, w.ClusterDomain),
		Image: image.Dir, Args: argv, Env: plan.ProcessEnv(image, id, env), Dir: cmp.Or(c.WorkingDir, image.WorkingDir),
		ReadOnlyRoot: plan.ReadOnlyRoot(c), Stdin: c.Stdin, TTY: c.TTY, UID: id.UID, GID: id.GID, Groups: id.Groups, Mounts: mounts,
	}
	for _, alias := range pod.Spec.HostAliases {
		spec.Hosts = append(spec.Hosts, Host{IP: alias.IP, Names: alias.Hostnames})
	}
	return spec, nil
}

// beside returns the running container whose processes an ephemeral container shares, nil
// for none.
func (w *worker) beside(pod *corev1.Pod, name string) (Process, error) {
	target := plan.TargetOf(&pod.Spec, name)
	if target == "" {
		return nil, nil
	}
	run := w.runs[target]
	if run == nil {
		return nil, fmt.Errorf("target container %q is not running", target)
	}
	return run.process, nil
}

// serviceEnv returns the variables by which a program finds the API server. They hold the
// server's own address instead of a ClusterIP, so that pods do not depend on the Services'
// relay. The runtime adds PATH, HOME and HOSTNAME.
func (w *worker) serviceEnv() []corev1.EnvVar {
	port := fmt.Sprint(w.APIServer.Port())
	return []corev1.EnvVar{
		{Name: "KUBERNETES_SERVICE_HOST", Value: w.APIServer.Addr().String()},
		{Name: "KUBERNETES_SERVICE_PORT", Value: port},
		{Name: "KUBERNETES_SERVICE_PORT_HTTPS", Value: port},
	}
}

// containerRun is one run of a container, from its start to its end.
type containerRun struct {
	name, id, imageID string
	spec              corev1.Container
	process           Process
	started           time.Time
	// release ends the use of the image.
	release func()

	dir, logPath, terminationFile string
	log                           *logFile
	stdout, stderr                *tap

	// life ends with the process, probes with the node as well. end ends both; tasks
	// are the run's goroutines.
	life, probes context.Context
	end          context.CancelFunc
	tasks        sync.WaitGroup
	// killAt is the time of SIGKILL, zero while the process is not being stopped.
	// preStop is true while its preStop hook runs, delayed if SIGTERM had to wait.
	killAt                               time.Time
	preStop, delayed, terminated, killed bool
}

// close writes the last incomplete lines to the log, closes it and detaches all clients.
func (r *containerRun) close() error {
	return errors.Join(r.stdout.close(), r.stderr.close(), r.log.out.Close())
}

// watch starts the goroutines that wait for the run's end, run the postStart hook and
// probe the container.
func (w *worker) watch(ctx context.Context, r *containerRun) {
	probes, endProbes := context.WithCancel(ctx)
	life, endLife := context.WithCancel(context.WithoutCancel(ctx))
	r.life, r.probes, r.end = life, probes, func() { endProbes(); endLife() }
	r.tasks.Go(func() {
		exit := r.process.Wait()
		w.inbox <- func() { w.exited(ctx, r, exit) } // the worker does not leave before
	})
	if hook := postStart(r.spec); hook != nil {
		w.startHook(r, hook, func(err error) { w.postStarted(r, err) })
		return
	}
	w.startProbes(r)
}

// startProbes starts the startup probe, or those that follow it.
func (w *worker) startProbes(r *containerRun) {
	if r.spec.StartupProbe != nil {
		w.probe(r, plan.StartupProbe, r.spec.StartupProbe)
	} else {
		w.probeStarted(r)
	}
}

// probeStarted starts the liveness and readiness probes.
func (w *worker) probeStarted(r *containerRun) {
	if r.spec.LivenessProbe != nil {
		w.probe(r, plan.LivenessProbe, r.spec.LivenessProbe)
	}
	if r.spec.ReadinessProbe != nil {
		w.probe(r, plan.ReadinessProbe, r.spec.ReadinessProbe)
	}
}

// target returns the run as the target of probes and hooks.
func (w *worker) target(r *containerRun) probeTarget {
	return probeTarget{container: r.spec, podIP: w.network.IP().String(), process: r.process}
}

func (w *worker) probe(r *containerRun, kind plan.ProbeKind, probe *corev1.Probe) {
	ctx, cancel := context.WithCancel(r.probes)
	target := w.target(r)
	r.tasks.Go(func() {
		defer cancel()
		runProbe(ctx, w.Clock, plan.ProbeDelay(kind, probe, w.Clock.Since(r.started)), probe, target, func(count plan.ProbeCount, err error) {
			select {
			case w.inbox <- func() { w.probed(ctx, cancel, r, kind, probe, count, err) }:
			case <-ctx.Done():
			}
		})
	})
}

// probed handles the result of one probe; last stops this probe.
func (w *worker) probed(ctx context.Context, last context.CancelFunc, r *containerRun, kind plan.ProbeKind, probe *corev1.Probe, count plan.ProbeCount, err error) {
	if w.runs[r.name] != r || ctx.Err() != nil {
		return
	}
	if w.end != nil && kind != plan.ReadinessProbe { // as in kubelet
		last()
		return
	}
	pod := w.currentPod()
	if err != nil {
		what := "failed"
		if errors.As(err, new(*notRunError)) {
			what = "errored and resulted in unknown state"
		}
		w.events.warn(pod, r.name, "Unhealthy", fmt.Sprintf("%s probe %s: %v", kind, what, err))
	}
	if !count.Decided {
		return
	}
	state := w.states[r.name]
	switch {
	case kind == plan.ReadinessProbe:
		if count.Result && !state.Ready {
			w.events.settled(r.name, "Unhealthy")
		}
		state.Ready = count.Result
	case !count.Result:
		last()
		w.events.normal(pod, r.name, "Killing", "Container %s failed %s probe, will be restarted", r.name, strings.ToLower(string(kind)))
		w.stopRun(r, probeGrace(pod, probe))
	case kind == plan.StartupProbe:
		last()
		state.Started, state.Ready = true, r.spec.ReadinessProbe == nil
		w.probeStarted(r)
	}
	w.states[r.name] = state
}

// exited handles the end of a run.
func (w *worker) exited(ctx context.Context, r *containerRun, exit plan.Exit) {
	r.end()
	r.tasks.Wait()
	delete(w.runs, r.name)
	pod, now := w.currentPod(), w.Clock.Now()
	r.release()
	err := r.close()
	message := terminationMessage(r.spec, r.terminationFile, r.logPath, plan.ExitCode(exit) != 0)
	if err := errors.Join(err, os.RemoveAll(r.dir)); err != nil {
		klog.FromContext(ctx).Error(err, "Cannot clean up after an ended container", "pod", klog.KObj(pod), "container", r.name)
	}
	restarts := w.end == nil && plan.RestartsAfter(&pod.Spec, r.name, plan.ExitCode(exit))
	w.states[r.name] = w.states[r.name].Exited(exit, message, r.started, now, restarts, w.BackOff, r.name)
	w.tellBackOff(pod, r.name)
}

// tellBackOff records an event if the container is in CrashLoopBackOff.
func (w *worker) tellBackOff(pod *corev1.Pod, name string) {
	if waiting := w.states[name].State.Waiting; waiting == nil || waiting.Reason != plan.ReasonCrashLoopBackOff {
		return
	}
	w.events.warn(pod, name, "BackOff", fmt.Sprintf("Back-off restarting failed container %s in pod %s_%s(%s)", name, pod.Name, pod.Namespace, pod.UID))
}

// stopRun runs the preStop hook, sends SIGTERM, and schedules SIGKILL after the time. A
// second call can only bring SIGKILL forward.
func (w *worker) stopRun(r *containerRun, within time.Duration) {
	at := w.Clock.Now().Add(within)
	if !r.killAt.IsZero() {
		if at.Before(r.killAt) {
			r.killAt = at
		}
		return
	}
	r.killAt = at
	if hook := preStop(r.spec); hook != nil && within > 0 {
		r.preStop = true
		w.startHook(r, hook, func(err error) { w.preStopped(r, err) })
	}
	w.terminateRun(r)
}

// terminateRun sends SIGTERM once, as soon as the preStop hook has ended and the containers
// that a sidecar serves have, or their time is over.
func (w *worker) terminateRun(r *containerRun) {
	now := w.Clock.Now()
	switch {
	case r.terminated:
		return
	case now.Before(r.killAt) && (r.preStop || !w.mayEnd(r)):
		r.delayed = true
		return
	}
	r.terminated = true
	w.signal(r, syscall.SIGTERM)
	if least := now.Add(leastGrace); r.delayed && r.killAt.Before(least) {
		r.killAt = least
	}
}

// mayEnd reports whether no other container has to end before this run.
func (w *worker) mayEnd(r *containerRun) bool {
	runs := func(name string) bool { return w.runs[name] != nil }
	return w.end == nil || plan.MayEnd(&w.currentPod().Spec, r.name, runs)
}

// killDue sends SIGTERM and SIGKILL if they are due. Otherwise it returns the time when
// SIGKILL will be, zero if the run is not being stopped.
func (w *worker) killDue(r *containerRun, now time.Time) time.Time {
	if r.killAt.IsZero() || r.killed {
		return time.Time{}
	}
	w.terminateRun(r)
	if now.Before(r.killAt) {
		return r.killAt
	}
	r.killed = true
	w.signal(r, syscall.SIGKILL)
	return time.Time{}
}

func (w *worker) signal(r *containerRun, signal syscall.Signal) {
	if err := r.process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		klog.ErrorS(err, "Cannot signal a container", "pod", klog.KObj(w.currentPod()), "container", r.name, "signal", signal)
	}
}

// probeGrace returns the grace period of a container that failed the probe.
func probeGrace(pod *corev1.Pod, probe *corev1.Probe) time.Duration {
	if probe.TerminationGracePeriodSeconds != nil {
		return time.Duration(*probe.TerminationGracePeriodSeconds) * time.Second
	}
	return grace(pod)
}

// stop starts to end the pod's processes, which have the time for it.
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

// advanceEnd kills the processes whose time is over, and finishes the pod when none
// is left.
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
