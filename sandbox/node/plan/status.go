package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// View holds everything that a pod's status depends on.
type View struct {
	Pod    *corev1.Pod
	States map[string]ContainerState
	At     Addresses
	// Finished is true when no container will run again.
	Finished bool
	// Reason and Message are why the node ended the pod, empty if it did not.
	Reason, Message string
	// StartTime is the time when the node first saw the pod, Now that of the view.
	StartTime, Now time.Time
}

// Status returns a pod's status, based on the API server's: fields that the node does
// not own stay, and an unchanged condition keeps its transition time.
func Status(current corev1.PodStatus, v View) corev1.PodStatus {
	status := *current.DeepCopy()
	status.Phase = phase(v)
	status.Reason, status.Message = v.Reason, v.Message
	status.ObservedGeneration = v.Pod.Generation
	if status.StartTime == nil {
		started := Seconds(v.StartTime)
		status.StartTime = &started
	}
	status.HostIP, status.HostIPs = v.At.Host, []corev1.HostIP{{IP: v.At.Host}}
	if v.At.Pod != "" {
		status.PodIP, status.PodIPs = v.At.Pod, []corev1.PodIP{{IP: v.At.Pod}}
	}
	status.InitContainerStatuses = initStatuses(v)
	status.ContainerStatuses = containerStatuses(v)
	status.EphemeralContainerStatuses = ephemeralStatuses(v)
	for _, c := range conditions(status, v) {
		c.ObservedGeneration = v.Pod.Generation
		status.Conditions = setCondition(status.Conditions, c, v.Now)
	}
	return status
}

// phase returns the pod's phase by kubelet's rules.
func phase(v View) corev1.PodPhase {
	if v.Reason != "" && v.Finished {
		return corev1.PodFailed
	}
	spec := &v.Pod.Spec
	if len(incomplete(spec, v.States)) > 0 {
		if v.Finished {
			return corev1.PodFailed
		}
		return corev1.PodPending
	}
	failed := false
	for _, c := range spec.Containers {
		s := v.States[c.Name]
		if s.reported().Waiting != nil && s.Last == nil && !v.Finished {
			return corev1.PodPending
		}
		failed = failed || !succeeded(s)
	}
	switch {
	case !v.Finished:
		return corev1.PodRunning
	case failed:
		return corev1.PodFailed
	}
	return corev1.PodSucceeded
}

func initStatuses(v View) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for _, c := range v.Pod.Spec.InitContainers {
		s := v.States[c.Name]
		status := containerStatus(c, s)
		if !isSidecar(c) {
			status.Ready = succeeded(s)
		}
		out = append(out, status)
	}
	return out
}

// containerStatuses returns the statuses sorted by name, as kubelet does.
func containerStatuses(v View) []corev1.ContainerStatus {
	out := []corev1.ContainerStatus{}
	for _, c := range v.Pod.Spec.Containers {
		out = append(out, containerStatus(c, v.States[c.Name]))
	}
	slices.SortFunc(out, func(a, b corev1.ContainerStatus) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// ephemeralStatuses returns the statuses of ephemeral containers, which are never ready.
func ephemeralStatuses(v View) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for _, c := range ephemeral(&v.Pod.Spec) {
		status := containerStatus(c, v.States[c.Name])
		status.Started, status.Ready = nil, false
		out = append(out, status)
	}
	return out
}

// Statuses returns the statuses of all containers of a pod.
func Statuses(status corev1.PodStatus) []corev1.ContainerStatus {
	return slices.Concat(status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses)
}

func containerStatus(c corev1.Container, s ContainerState) corev1.ContainerStatus {
	state := s.reported()
	started := state.Running != nil && s.Started
	status := corev1.ContainerStatus{
		Name: c.Name, State: state, RestartCount: s.Restarts,
		Image: c.Image, ImageID: s.ImageID, ContainerID: s.ID,
		Started: &started, Ready: started && s.Ready,
	}
	if s.Last != nil {
		status.LastTerminationState = corev1.ContainerState{Terminated: s.Last}
	}
	return status
}

// setCondition adds or replaces a condition. It keeps the transition time unless the
// condition's status changes.
func setCondition(list []corev1.PodCondition, c corev1.PodCondition, now time.Time) []corev1.PodCondition {
	c.LastTransitionTime = Seconds(now)
	i := slices.IndexFunc(list, func(known corev1.PodCondition) bool { return known.Type == c.Type })
	if i < 0 {
		return append(list, c)
	}
	if list[i].Status == c.Status {
		c.LastTransitionTime = list[i].LastTransitionTime
	}
	c.LastProbeTime = metav1.Time{}
	list[i] = c
	return list
}

// Kubelet's reasons of a pod's conditions.
const (
	reasonPodCompleted           = "PodCompleted"
	reasonPodFailed              = "PodFailed"
	reasonContainersNotReady     = "ContainersNotReady"
	reasonContainersNotInit      = "ContainersNotInitialized"
	reasonReadinessGatesNotReady = "ReadinessGatesNotReady"
)

// conditions returns the conditions that a node sets, computed from the rest of the
// status.
func conditions(status corev1.PodStatus, v View) []corev1.PodCondition {
	ready := containersReady(&v.Pod.Spec, status)
	containers := ready
	containers.Type = corev1.ContainersReady
	return []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
		{Type: corev1.PodReadyToStartContainers, Status: conditionStatus(v.At.Pod != "" && !v.Finished)},
		podInitialized(status, v),
		containers,
		podReady(ready, status, v.Pod.Spec.ReadinessGates),
	}
}

func conditionStatus(yes bool) corev1.ConditionStatus {
	if yes {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

func podInitialized(status corev1.PodStatus, v View) corev1.PodCondition {
	c := corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}
	if status.Phase == corev1.PodSucceeded {
		c.Reason = reasonPodCompleted
	}
	if names := incomplete(&v.Pod.Spec, v.States); len(names) > 0 {
		c.Status, c.Reason = corev1.ConditionFalse, reasonContainersNotInit
		c.Message = fmt.Sprintf("containers with incomplete status: %s", names)
	}
	return c
}

// containersReady returns the condition Ready without regard to readiness gates.
func containersReady(spec *corev1.PodSpec, status corev1.PodStatus) corev1.PodCondition {
	c := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse}
	switch status.Phase {
	case corev1.PodSucceeded:
		c.Reason = reasonPodCompleted
		return c
	case corev1.PodFailed:
		c.Reason = reasonPodFailed
		return c
	}
	var unready []string
	for _, container := range status.InitContainerStatuses {
		if !container.Ready && sidecarIndex(spec, container.Name) >= 0 {
			unready = append(unready, container.Name)
		}
	}
	for _, container := range status.ContainerStatuses {
		if !container.Ready {
			unready = append(unready, container.Name)
		}
	}
	if len(unready) > 0 {
		c.Reason, c.Message = reasonContainersNotReady, fmt.Sprintf("containers with unready status: %s", unready)
		return c
	}
	c.Status = corev1.ConditionTrue
	return c
}

// podReady returns the condition Ready: containers ready and readiness gates True.
func podReady(ready corev1.PodCondition, status corev1.PodStatus, gates []corev1.PodReadinessGate) corev1.PodCondition {
	if ready.Status != corev1.ConditionTrue {
		return ready
	}
	var closed []string
	for _, gate := range gates {
		state := corev1.ConditionFalse
		found := false
		for _, c := range status.Conditions {
			if c.Type == gate.ConditionType {
				state, found = c.Status, true
			}
		}
		switch {
		case !found:
			closed = append(closed, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType))
		case state != corev1.ConditionTrue:
			closed = append(closed, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %s", gate.ConditionType, state))
		}
	}
	if len(closed) > 0 {
		ready.Status, ready.Reason, ready.Message = corev1.ConditionFalse, reasonReadinessGatesNotReady, strings.Join(closed, ", ")
	}
	return ready
}
