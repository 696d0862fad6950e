package node

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The reasons of containers' states, which are kubelet's and containerd's where
// they have one.
const (
	reasonContainerCreating = "ContainerCreating"
	reasonPodInitializing   = "PodInitializing"
	reasonCrashLoopBackOff  = "CrashLoopBackOff"
	reasonConfigError       = "CreateContainerConfigError"
	reasonErrImagePull      = "ErrImagePull"
	reasonImagePullBackOff  = "ImagePullBackOff"
	reasonUnsupported       = "Unsupported"
	reasonCompleted         = "Completed"
	reasonError             = "Error"
	reasonStartError        = "StartError"
	reasonStatusUnknown     = "ContainerStatusUnknown"
)

// The exit codes of runs that did not end by themselves, as kubelet and
// containerd report them.
const (
	exitStartError = 128
	exitUnknown    = 137
)

// containerState is what is known of one container of a pod.
type containerState struct {
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

// seconds is a time as the API server keeps it.
func seconds(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// waiting is the state of a container that cannot be started for now.
func (s containerState) waiting(reason, message string, retryAt time.Time) containerState {
	if s.State.Terminated != nil {
		s.Last = s.State.Terminated
	}
	s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	s.NotBefore = retryAt
	return s
}

// pullFailed returns the state of a container whose image is not there: at first
// ErrImagePull, and from the second try on ImagePullBackOff, as kubelet reports it.
func (s containerState) pullFailed(image string, cause error, retryAt time.Time) containerState {
	if w := s.State.Waiting; w == nil || (w.Reason != reasonErrImagePull && w.Reason != reasonImagePullBackOff) {
		return s.waiting(reasonErrImagePull, cause.Error(), retryAt)
	}
	return s.waiting(reasonImagePullBackOff, fmt.Sprintf("Back-off pulling image %q: %s: %v", image, reasonErrImagePull, cause), retryAt)
}

// running is the state after a start.
func (s containerState) running(id, image, imageID string, now time.Time) containerState {
	if s.ID != "" {
		s.Restarts++
		s.InRow++
	}
	if s.State.Terminated != nil {
		s.Last = s.State.Terminated
	}
	s.ID, s.Image, s.ImageID = id, image, imageID
	s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: seconds(now)}}
	s.Started, s.Ready, s.NotBefore = false, false, time.Time{}
	return s
}

// exited is the state after the end of a run. restarts says whether the
// container will be started again; then the back-off says when.
func (s containerState) exited(exit Exit, message string, started, now time.Time, restarts bool, b BackOff, name string) containerState {
	ended := corev1.ContainerStateTerminated{
		ExitCode: exitCode(exit), Reason: reasonError, Message: message,
		StartedAt: seconds(started), FinishedAt: seconds(now), ContainerID: s.ID,
	}
	if ended.ExitCode == 0 {
		ended.Reason = reasonCompleted
	}
	return s.ended(ended, now.Sub(started), now, restarts, b, name)
}

// notStarted is the state after a start that failed in the runtime: containerd
// reports it as a run that ended at once.
func (s containerState) notStarted(id, image, message string, now time.Time, restarts bool, b BackOff, name string) containerState {
	s = s.running(id, image, "", now)
	return s.ended(corev1.ContainerStateTerminated{
		ExitCode: exitStartError, Reason: reasonStartError, Message: message,
		StartedAt: seconds(now), FinishedAt: seconds(now), ContainerID: id,
	}, 0, now, restarts, b, name)
}

func (s containerState) ended(t corev1.ContainerStateTerminated, ran time.Duration, now time.Time, restarts bool, b BackOff, name string) containerState {
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
		Reason:  reasonCrashLoopBackOff,
		Message: fmt.Sprintf("back-off %s restarting failed container=%s: exit code %d, %s", wait, name, t.ExitCode, t.Reason),
	}}
	return s
}

// exitCode is a process's exit as a shell would count it.
func exitCode(exit Exit) int32 {
	if exit.Signal != 0 {
		return 128 + int32(exit.Signal)
	}
	return int32(exit.Code)
}

// initialStates are the containers' states before anything of the pod was
// started. The status is the API server's: a container that ran there before the
// node came up again has ended with the node.
func initialStates(pod *corev1.Pod, now time.Time) map[string]containerState {
	states := map[string]containerState{}
	reason := reasonContainerCreating
	if len(pod.Spec.InitContainers) > 0 {
		reason = reasonPodInitializing
	}
	for _, c := range allContainers(&pod.Spec) {
		states[c.Name] = containerState{Image: c.Image,
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
				ExitCode: exitUnknown, Reason: reasonStatusUnknown, Message: "The process ended with the node",
				StartedAt: r.State.Running.StartedAt, FinishedAt: seconds(now), ContainerID: r.ContainerID,
			}}
		}
		states[r.Name] = state
	}
	return states
}
