package plan

import (
	"fmt"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The reasons of containers' states: kubelet's and containerd's, and Unsupported for a
// pod that this node refuses.
const (
	ReasonContainerCreating = "ContainerCreating"
	reasonPodInitializing   = "PodInitializing"
	ReasonCrashLoopBackOff  = "CrashLoopBackOff"
	ReasonConfigError       = "CreateContainerConfigError"
	ReasonErrImagePull      = "ErrImagePull"
	ReasonErrImageNeverPull = "ErrImageNeverPull"
	ReasonImagePullBackOff  = "ImagePullBackOff"
	ReasonUnsupported       = "Unsupported"
	reasonCompleted         = "Completed"
	reasonError             = "Error"
	ReasonStartError        = "StartError"
	ReasonStatusUnknown     = "ContainerStatusUnknown"
)

// The exit codes that kubelet and containerd report for a run that could not start,
// and for one whose end they missed.
const (
	ExitStartError = 128
	exitUnknown    = 137
)

// ContainerState is the state of one container of a pod.
//
// State holds one of the three states of a container. Waiting leads to Running by a
// start, or to another Waiting by an attempt that failed. Running leads to Terminated,
// or to Waiting (CrashLoopBackOff) if the container is to be restarted after a delay.
// Terminated leads to Running if it is restarted at once; otherwise it is final.
type ContainerState struct {
	State corev1.ContainerState
	// Last is the end of the run before the current one.
	Last *corev1.ContainerStateTerminated
	// Image and ImageID are the image of the current or last run.
	Image, ImageID string
	// ID identifies the current or last run, empty before the first. Earlier is true if an
	// earlier run of the node started it.
	ID      string
	Earlier bool
	// Restarts counts the starts after the first.
	Restarts int32
	// InRow counts the restarts since the back-off was reset.
	InRow int
	// NotBefore is the earliest time of the next start.
	NotBefore time.Time
	// PostStart is true while the postStart hook of a running container runs. As in
	// kubelet, the container is reported as waiting until then.
	PostStart bool
	// Started is true once the startup probe has succeeded or if there is none,
	// Ready while the same holds for the readiness probe.
	Started, Ready bool
}

// Exit describes the end of a process: its exit code, or the signal that killed it.
type Exit struct {
	Code   int
	Signal syscall.Signal
}

// Seconds returns a time in the API server's precision.
func Seconds(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// Waiting returns the state of a container that cannot be started before retryAt.
func (s ContainerState) Waiting(reason, message string, retryAt time.Time) ContainerState {
	if s.State.Terminated != nil {
		s.Last = s.State.Terminated
	}
	s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	s.NotBefore = retryAt
	return s
}

// PullFailed returns the state of a container whose image is unknown. As in kubelet,
// its reason is ErrImagePull at first and ImagePullBackOff from the second attempt on.
func (s ContainerState) PullFailed(image string, cause error, retryAt time.Time) ContainerState {
	if w := s.State.Waiting; w == nil || (w.Reason != ReasonErrImagePull && w.Reason != ReasonImagePullBackOff) {
		return s.Waiting(ReasonErrImagePull, cause.Error(), retryAt)
	}
	return s.Waiting(ReasonImagePullBackOff, fmt.Sprintf("Back-off pulling image %q: %s: %v", image, ReasonErrImagePull, cause), retryAt)
}

// Running returns the state after a start.
func (s ContainerState) Running(id, image, imageID string, now time.Time) ContainerState {
	if s.ID != "" {
		s.Restarts++
		s.InRow++
	}
	if s.State.Terminated != nil {
		s.Last = s.State.Terminated
	}
	s.ID, s.Earlier, s.Image, s.ImageID = id, false, image, imageID
	s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: Seconds(now)}}
	s.PostStart, s.Started, s.Ready, s.NotBefore = false, false, false, time.Time{}
	return s
}

// reported returns the container's state for the pod's status.
func (s ContainerState) reported() corev1.ContainerState {
	if s.PostStart {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: ReasonContainerCreating}}
	}
	return s.State
}

// Describe returns a container's state as text, for example "waiting: CrashLoopBackOff".
func Describe(s corev1.ContainerState) string {
	switch {
	case s.Terminated != nil:
		return fmt.Sprintf("terminated: %s, exit code %d", s.Terminated.Reason, s.Terminated.ExitCode)
	case s.Waiting != nil:
		return "waiting: " + s.Waiting.Reason
	}
	return "it has just ended"
}

// Exited returns the state after the end of a run. If restarts is true, the back-off
// b sets the time of the next start.
func (s ContainerState) Exited(exit Exit, message string, started, now time.Time, restarts bool, b BackOff, name string) ContainerState {
	ended := corev1.ContainerStateTerminated{
		ExitCode: ExitCode(exit), Reason: reasonError, Message: message,
		StartedAt: Seconds(started), FinishedAt: Seconds(now), ContainerID: s.ID,
	}
	if ended.ExitCode == 0 {
		ended.Reason = reasonCompleted
	}
	return s.ended(ended, now.Sub(started), now, restarts, b, name)
}

// NotStarted returns the state after a start that failed in the runtime. As in
// containerd, it is that of a run that ended at once.
func (s ContainerState) NotStarted(id, image, message string, now time.Time, restarts bool, b BackOff, name string) ContainerState {
	s = s.Running(id, image, "", now)
	return s.ended(corev1.ContainerStateTerminated{
		ExitCode: ExitStartError, Reason: ReasonStartError, Message: message,
		StartedAt: Seconds(now), FinishedAt: Seconds(now), ContainerID: id,
	}, 0, now, restarts, b, name)
}

func (s ContainerState) ended(t corev1.ContainerStateTerminated, ran time.Duration, now time.Time, restarts bool, b BackOff, name string) ContainerState {
	s.PostStart, s.Started, s.Ready = false, false, false
	if b.ResetBy(ran) {
		s.InRow = 0
	}
	wait := b.Delay(s.InRow)
	if !restarts || wait == 0 {
		s.State = corev1.ContainerState{Terminated: &t}
		s.NotBefore = now
		return s
	}
	s.Last = &t
	s.NotBefore = now.Add(wait)
	s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason:  ReasonCrashLoopBackOff,
		Message: fmt.Sprintf("back-off %s restarting failed container=%s: exit code %d, %s", wait, name, t.ExitCode, t.Reason),
	}}
	return s
}

// ExitCode returns the exit code as a shell reports it: 128 and the signal's number
// for a killed process.
func ExitCode(exit Exit) int32 {
	if exit.Signal != 0 {
		return 128 + int32(exit.Signal)
	}
	return int32(exit.Code)
}

// InitialStates returns the containers' states before the node has started any of
// them. A container that the API server's status reports as running has ended with an
// earlier run of the node.
func InitialStates(pod *corev1.Pod, now time.Time) map[string]ContainerState {
	states := map[string]ContainerState{}
	reason := ReasonContainerCreating
	if len(pod.Spec.InitContainers) > 0 {
		reason = reasonPodInitializing
	}
	for _, c := range Containers(&pod.Spec) {
		states[c.Name] = initialState(c, reason)
	}
	for _, r := range Statuses(pod.Status) {
		state, known := states[r.Name]
		if !known || r.ContainerID == "" {
			continue
		}
		state.Earlier = true
		state.ID, state.Restarts, state.Last = r.ContainerID, r.RestartCount, r.LastTerminationState.Terminated
		switch {
		case r.State.Terminated != nil:
			state.State = corev1.ContainerState{Terminated: r.State.Terminated}
		case r.State.Running != nil:
			state.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: exitUnknown, Reason: ReasonStatusUnknown, Message: "The process ended with the node",
				StartedAt: r.State.Running.StartedAt, FinishedAt: Seconds(now), ContainerID: r.ContainerID,
			}}
		}
		states[r.Name] = state
	}
	return states
}

func initialState(c corev1.Container, reason string) ContainerState {
	return ContainerState{Image: c.Image, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
}

// AddNew adds the states of containers that were added to the pod.
func AddNew(states map[string]ContainerState, spec *corev1.PodSpec) {
	for _, c := range Containers(spec) {
		if _, known := states[c.Name]; !known {
			states[c.Name] = initialState(c, ReasonContainerCreating)
		}
	}
}

// BackOff is kubelet's rule for a container that keeps ending. The first restart is
// immediate, the second waits for Initial, and each later one twice as long as the
// one before, up to Max. A run that lasted twice Max resets the back-off.
type BackOff struct {
	Initial, Max time.Duration
}

// Delay returns the wait before the restart that follows the given number of restarts
// in a row.
func (b BackOff) Delay(restartsInRow int) time.Duration {
	if restartsInRow <= 0 {
		return 0
	}
	wait := b.Initial
	for range restartsInRow - 1 {
		if wait >= b.Max {
			break
		}
		wait *= 2
	}
	return min(wait, b.Max)
}

// ResetBy reports whether a run of this length resets the back-off.
func (b BackOff) ResetBy(ran time.Duration) bool { return ran >= 2*b.Max }

// Step is the next step of a pod.
type Step struct {
	// Start names the containers to start now.
	Start []string
	// Again is the time of the next start, zero if none is due later.
	Again time.Time
	// Finished is true when no container of the pod will run again.
	Finished bool
}

// Next returns the next step of a pod by kubelet's rules:
//
//	init containers   one after the other, each until it has succeeded
//	sidecars          among them, each until it has started; again when they end
//	other containers  all together, after the last init container
//	an ended one      again if the restart policy requires it, after its back-off
//	ephemeral ones    once, at any time until the pod has finished
func Next(spec *corev1.PodSpec, states map[string]ContainerState, now time.Time) Step {
	step := nextLasting(spec, states, now)
	if !step.Finished {
		step.startEphemeral(spec, states, now)
	}
	return step
}

// due adds the start of a container that does not run, now or after its back-off.
func (s *Step) due(name string, state ContainerState, now time.Time) {
	switch {
	case !now.Before(state.NotBefore):
		s.Start = append(s.Start, name)
	case s.Again.IsZero() || state.NotBefore.Before(s.Again):
		s.Again = state.NotBefore
	}
}

// nextLasting is Next without regard to ephemeral containers.
func nextLasting(spec *corev1.PodSpec, states map[string]ContainerState, now time.Time) Step {
	step, initialized := nextInit(spec, states, now)
	if !initialized {
		return step
	}
	finished := true
	for _, c := range spec.Containers {
		s := states[c.Name]
		if over(spec, c.Name, s) {
			continue
		}
		finished = false
		if s.State.Running == nil {
			step.due(c.Name, s, now)
		}
	}
	if finished {
		return Step{Finished: true}
	}
	return step
}

// nextInit returns the next step of the init containers, and whether the ordinary ones may
// start.
func nextInit(spec *corev1.PodSpec, states map[string]ContainerState, now time.Time) (step Step, initialized bool) {
	begun := begun(spec, states)
	for _, c := range spec.InitContainers {
		s := states[c.Name]
		if passed(c, s) || begun && !isSidecar(c) {
			continue
		}
		if over(spec, c.Name, s) {
			return Step{Finished: true}, false
		}
		if s.State.Running == nil {
			step.due(c.Name, s, now)
		}
		if !begun {
			return step, false
		}
	}
	return step, true
}

// RestartsAfter reports whether a container is started again after it ended with the
// exit code. A sidecar always is, an init container that succeeded is not, and no ephemeral
// one.
func RestartsAfter(spec *corev1.PodSpec, name string, code int32) bool {
	switch {
	case IsEphemeral(spec, name):
		return false
	case sidecarIndex(spec, name) >= 0:
		return true
	}
	switch spec.RestartPolicy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return code != 0
	}
	return code != 0 || !IsInit(spec, name)
}

// over reports whether a container has ended and is not started again.
func over(spec *corev1.PodSpec, name string, s ContainerState) bool {
	return s.State.Terminated != nil && !RestartsAfter(spec, name, s.State.Terminated.ExitCode)
}

// IsInit reports whether the pod has an init container of the name.
func IsInit(spec *corev1.PodSpec, name string) bool {
	for _, c := range spec.InitContainers {
		if c.Name == name {
			return true
		}
	}
	return false
}

// succeeded reports whether a container has ended with exit code 0.
func succeeded(s ContainerState) bool {
	return s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
}
