package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// startTimeout bounds the set-up of a container's root and namespaces.
const startTimeout = 30 * time.Second

// waitError is why a container cannot be started for now: a reason for its
// status, and the error.
type waitError struct {
	Reason string
	Err    error
}

func (e *waitError) Error() string { return e.Err.Error() }
func (e *waitError) Unwrap() error { return e.Err }

// start starts a container, or notes in its state why it cannot.
func (w *worker) start(ctx context.Context, pod *corev1.Pod, name string) {
	now, state := w.Clock.Now(), w.states[name]
	c, err := containerNamed(pod, name, corev1.Container{})
	if err != nil {
		return // the pod was changed meanwhile; its containers' names cannot be
	}
	r, err := w.launch(ctx, pod, c, state)
	var wait *waitError
	switch {
	case errors.Is(err, errNotRead):
		w.states[name] = state.waiting(stillReason(state), "", now.Add(configRetry))
		return
	case errors.As(err, &wait) && wait.Reason == reasonErrImagePull:
		w.states[name] = state.pullFailed(c.Image, err, now.Add(configRetry))
		w.tellPull(pod, name, c.Image, err)
		return
	case errors.As(err, &wait):
		w.events.warn(pod, name, "Failed", "Error: "+err.Error())
		w.states[name] = state.waiting(wait.Reason, err.Error(), now.Add(configRetry))
		return
	case err != nil:
		w.events.warn(pod, name, "Failed", "Error: "+err.Error())
		restarts := restartsAfter(&pod.Spec, name, exitStartError)
		w.states[name] = state.notStarted(w.runID(pod, name, nextRun(state)), c.Image, err.Error(), now, restarts, w.BackOff, name)
		w.tellBackOff(pod, name)
		return
	}
	w.events.settled(name, "Failed")
	w.events.normal(pod, name, "Started", "Started container %s", name)
	w.runs[name] = r
	state = state.running(r.id, c.Image, r.imageID, now)
	state.Started = c.StartupProbe == nil
	state.Ready = state.Started && c.ReadinessProbe == nil
	w.states[name] = state
	w.watch(ctx, r)
}

// tellPull records that an image is not there, and that the node backs off.
func (w *worker) tellPull(pod *corev1.Pod, name, image string, err error) {
	w.events.warn(pod, name, "Failed", fmt.Sprintf("Failed to pull image %q: %v", image, err))
	if w.states[name].State.Waiting.Reason == reasonImagePullBackOff {
		w.events.warn(pod, name, "BackOff", fmt.Sprintf("Back-off pulling image %q", image))
	}
}

// stillReason keeps the reason of a container that waits.
func stillReason(s containerState) string {
	if s.State.Waiting != nil {
		return s.State.Waiting.Reason
	}
	return reasonContainerCreating
}

// nextRun numbers a container's runs by its restarts.
func nextRun(s containerState) int32 {
	if s.ID == "" {
		return 0
	}
	return s.Restarts + 1
}

func (w *worker) runID(pod *corev1.Pod, name string, run int32) string {
	return fmt.Sprintf("sandbox://%s-%s-%d", pod.UID, name, run)
}

// launch makes a container's configuration from the pod and starts it.
func (w *worker) launch(ctx context.Context, pod *corev1.Pod, c corev1.Container, state containerState) (*containerRun, error) {
	image, ok := w.Images.Resolve(c.Image)
	if !ok {
		return nil, &waitError{reasonErrImagePull, unknownImage(c.Image, w.Images.Known())}
	}
	in, err := w.surroundings()
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
	r.log, r.stdout, r.stderr = log, log.stream("stdout"), log.stream("stderr")
	startCtx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	r.started = w.Clock.Now()
	if r.process, err = w.Runtime.Start(startCtx, spec, w.network, r.stdout, r.stderr); err != nil {
		return nil, errors.Join(err, r.close(), os.RemoveAll(r.dir))
	}
	return r, nil
}

func unknownImage(name string, known []string) error {
	list := strings.Join(known, ", ")
	if list == "" {
		list = "none"
	}
	return fmt.Errorf("image %q is not known to the sandbox; known: %s; the container starts as soon as it is added", name, list)
}

// containerSpec is what the runtime is given, without the parts that belong to
// one run.
func (w *worker) containerSpec(pod *corev1.Pod, c corev1.Container, image Image, in surroundings) (Container, error) {
	id, err := identityOf(&pod.Spec, c, image)
	if err != nil {
		return Container{}, &waitError{reasonConfigError, err}
	}
	env, err := resolveEnv(c, in, w.serviceEnv())
	if err != nil {
		return Container{}, &waitError{reasonConfigError, err}
	}
	argv, err := commandLine(c, image, env.Vars)
	if err != nil {
		return Container{}, &waitError{"CreateContainerError", err}
	}
	mounts, err := w.volumes.mounts(&pod.Spec, c, env.Vars)
	if err != nil {
		return Container{}, &waitError{reasonConfigError, err}
	}
	spec := Container{
		Hostname: hostname(pod), Image: image.Dir, Args: argv, Env: env.list(), Dir: c.WorkingDir,
		ReadOnlyRoot: readOnlyRoot(c), UID: id.UID, GID: id.GID, Groups: id.Groups, Mounts: mounts,
	}
	for _, alias := range pod.Spec.HostAliases {
		spec.Hosts = append(spec.Hosts, Host{IP: alias.IP, Names: alias.Hostnames})
	}
	return spec, nil
}

// hostname is the pod's own, or its name.
func hostname(pod *corev1.Pod) string {
	if pod.Spec.Hostname != "" {
		return pod.Spec.Hostname
	}
	return pod.Name
}

// serviceEnv is how a program finds the API server: there is no service network,
// so it is the server's own address. The runtime adds PATH, HOME and HOSTNAME.
func (w *worker) serviceEnv() []corev1.EnvVar {
	port := fmt.Sprint(w.APIServer.Port())
	return []corev1.EnvVar{
		{Name: "KUBERNETES_SERVICE_HOST", Value: w.APIServer.Addr().String()},
		{Name: "KUBERNETES_SERVICE_PORT", Value: port},
		{Name: "KUBERNETES_SERVICE_PORT_HTTPS", Value: port},
	}
}
