package plan

import (
	"fmt"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The reasons of containers' states, which are kubelet's and containerd's where
// they have one.
const (
	ReasonContainerCreating = "ContainerCreating"
	reasonPodInitializing   = "PodInitializing"
	ReasonCrashLoopBackOff  = "CrashLoopBackOff"
	ReasonConfigError       = "CreateContainerConfigError"
	ReasonErrImagePull      = "ErrImagePull"
	ReasonImagePullBackOff  = "ImagePullBackOff"
	ReasonUnsupported       = "Unsupported"
	reasonCompleted         = "Completed"
	reasonError             = "Error"
	ReasonStartError        = "StartError"
	ReasonStatusUnknown     = "ContainerStatusUnknown"
)

// The exit codes of runs that did not end by themselves, as kubelet and
// containerd report them.
const (
	ExitStartError = 128
	exitUnknown    = 137
)

// ContainerState is what is known of one container of a pod.
type ContainerState struct {
	State corev1.ContainerState
	// Last is how the run before the current one ended.
	Last *corev1.ContainerStateTerminated
	// Image is what runs or ran last: the name, and where it is.
	Image, ImageID string
	// ID is of the current or last run, empty when there was none.
	ID string
	// Restarts counts the starts after the first.
	Restarts int32
	// InRow counts the restarts that the back-off counts.
	InRow int
	// NotBefore is when the next start is due.
	NotBefore time.Time
	// Started says that the startup probe has succeeded or that there is none,
	// Ready that the readiness probe has.
	Started, Ready bool
}

// Exit is how a process ended: by itself with a code, or by a signal.
type Exit struct {
	Code   int
	Signal syscall.Signal
}

// Seconds is a time as the API server keeps it.
func Seconds(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// Waiting is the state of a container that cannot be started for now.
func (s ContainerState) Waiting(reason, message string, retryAt time.Time) ContainerState {
	if s.State.Terminated != nil {
		s.Last = s.State.Terminated
	}
	s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	s.NotBefore = retryAt
	return s
}

// PullFailed returns the state of a container whose image is not there: at first
// ErrImagePull, and from the second try on ImagePullBackOff, as kubelet reports it.
func (s ContainerState) PullFailed(image string, cause error, retryAt time.Time) ContainerState {
	if w := s.State.Waiting; w == nil || (w.Reason != ReasonErrImagePull && w.Reason != ReasonImagePullBackOff) {
		return s.Waiting(ReasonErrImagePull, cause.Error(), retryAt)
	}
	return s.Waiting(ReasonImagePullBackOff, fmt.Sprintf("Back-off pulling image %q: %s: %v", image, ReasonErrImagePull, cause), retryAt)
}

// Running is the state after a start.
func (s ContainerState) Running(id, image, imageID string, now time.Time) ContainerState {
	if s.ID != "" {
		s.Restarts++
		s.InRow++
	}
	if s.State.Terminated != nil {
		s.Last = s.State.Terminated
	}
	s.ID, s.Image, s.ImageID = id, image, imageID
	s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: Seconds(now)}}
	s.Started, s.Ready, s.NotBefore = false, false, time.Time{}
	return s
}

// Exited is the state after the end of a run. restarts says whether the
// container will be started again; then the back-off says when.
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

// NotStarted is the state after a start that failed in the runtime: containerd
// reports it as a run that ended at once.
func (s ContainerState) NotStarted(id, image, message string, now time.Time, restarts bool, b BackOff, name string) ContainerState {
	s = s.Running(id, image, "", now)
	return s.ended(corev1.ContainerStateTerminated{
		ExitCode: ExitStartError, Reason: ReasonStartError, Message: message,
		StartedAt: Seconds(now), FinishedAt: Seconds(now), ContainerID: id,
	}, 0, now, restarts, b, name)
}

func (s ContainerState) ended(t corev1.ContainerStateTerminated, ran time.Duration, now time.Time, restarts bool, b BackOff, name string) ContainerState {
	s.Started, s.Ready = false, false
	if b.forgets(ran) {
		s.InRow = 0
	}
	wait := b.delay(s.InRow)
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

// ExitCode is a process's exit as a shell would count it.
func ExitCode(exit Exit) int32 {
	if exit.Signal != 0 {
		return 128 + int32(exit.Signal)
	}
	return int32(exit.Code)
}

// InitialStates are the containers' states before anything of the pod was
// started. The status is the API server's: a container that ran there before the
// node came up again has ended with the node.
func InitialStates(pod *corev1.Pod, now time.Time) map[string]ContainerState {
	states := map[string]ContainerState{}
	reason := ReasonContainerCreating
	if len(pod.Spec.InitContainers) > 0 {
		reason = reasonPodInitializing
	}
	for _, c := range Containers(&pod.Spec) {
		states[c.Name] = ContainerState{Image: c.Image,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
	}
	reported := append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...)
	for _, r := range reported {
		state, known := states[r.Name]
		if !known || r.ContainerID == "" {
			continue
		}
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

// BackOff is kubelet's rule for a container that keeps ending: the first restart
// is immediate, the next waits for Initial, each further one twice as long as the
// one before, up to Max. A container that ran for twice Max starts over.
type BackOff struct {
	Initial, Max time.Duration
}

// delay is the wait before the restart that follows the given number of
// restarts in a row.
func (b BackOff) delay(restartsInRow int) time.Duration {
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

// forgets says whether a run was long enough to start over.
func (b BackOff) forgets(ran time.Duration) bool { return ran >= 2*b.Max }

// Step is what is to be done next for a pod.
type Step struct {
	// Start names the containers to start now.
	Start []string
	// Again is when the next start is due, zero when none is.
	Again time.Time
	// Finished says that no container of the pod will run any more.
	Finished bool
}

// Next decides what to start: init containers one after the other, each until
// it has succeeded, and then all others; what has ended again where the pod's
// restart policy says so, not before its back-off.
func Next(spec *corev1.PodSpec, states map[string]ContainerState, now time.Time) Step {
	for _, c := range spec.InitContainers {
		s := states[c.Name]
		switch {
		case succeeded(s):
			continue
		case s.State.Running != nil:
			return Step{}
		case s.State.Terminated != nil && !RestartsAfter(spec, c.Name, s.State.Terminated.ExitCode):
			return Step{Finished: true}
		case now.Before(s.NotBefore):
			return Step{Again: s.NotBefore}
		}
		return Step{Start: []string{c.Name}}
	}
	plan := Step{Finished: true}
	for _, c := range spec.Containers {
		s := states[c.Name]
		if t := s.State.Terminated; t != nil && !RestartsAfter(spec, c.Name, t.ExitCode) {
			continue
		}
		plan.Finished = false
		switch {
		case s.State.Running != nil:
		case now.Before(s.NotBefore):
			if plan.Again.IsZero() || s.NotBefore.Before(plan.Again) {
				plan.Again = s.NotBefore
			}
		default:
			plan.Start = append(plan.Start, c.Name)
		}
	}
	return plan
}

// RestartsAfter says whether a container that ended with the code is started
// again. An init container is not, once it has succeeded.
func RestartsAfter(spec *corev1.PodSpec, name string, code int32) bool {
	switch spec.RestartPolicy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return code != 0
	}
	return code != 0 || !IsInit(spec, name)
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

// succeeded says that a container has ended with exit code 0.
func succeeded(s ContainerState) bool {
	return s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
}

// initialized says that every init container has succeeded.
func initialized(spec *corev1.PodSpec, states map[string]ContainerState) bool {
	for _, c := range spec.InitContainers {
		if !succeeded(states[c.Name]) {
			return false
		}
	}
	return true
}
