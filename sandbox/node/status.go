package node

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// view is all that a pod's status is made from.
type view struct {
	Pod    *corev1.Pod
	States map[string]containerState
	At     addresses
	// Finished says that no container will run any more.
	Finished bool
	// Reason and Message are why the node ended the pod, empty when it did not.
	Reason, Message string
	// StartTime is when the node first saw the pod, Now when the view was made.
	StartTime, Now time.Time
}

// podStatus is the status of a pod, built on the one that the API server has:
// what the node does not own stays, and a condition that has not changed keeps
// its transition time.
func podStatus(current corev1.PodStatus, v view) corev1.PodStatus {
	status := *current.DeepCopy()
	status.Phase = phase(v)
	status.Reason, status.Message = v.Reason, v.Message
	status.ObservedGeneration = v.Pod.Generation
	if status.StartTime == nil {
		started := seconds(v.StartTime)
		status.StartTime = &started
	}
	status.HostIP, status.HostIPs = v.At.Host, []corev1.HostIP{{IP: v.At.Host}}
	if v.At.Pod != "" {
		status.PodIP, status.PodIPs = v.At.Pod, []corev1.PodIP{{IP: v.At.Pod}}
	}
	status.InitContainerStatuses = initStatuses(v)
	status.ContainerStatuses = containerStatuses(v)
	for _, c := range conditions(status, v) {
		c.ObservedGeneration = v.Pod.Generation
		status.Conditions = setCondition(status.Conditions, c, v.Now)
	}
	return status
}

// phase is the pod's phase by kubelet's rules.
func phase(v view) corev1.PodPhase {
	if v.Reason != "" && v.Finished {
		return corev1.PodFailed
	}
	spec := &v.Pod.Spec
	if !initialized(spec, v.States) {
		if v.Finished {
			return corev1.PodFailed
		}
		return corev1.PodPending
	}
	failed := false
	for _, c := range spec.Containers {
		s := v.States[c.Name]
		if s.State.Waiting != nil && s.Last == nil && !v.Finished {
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

func initStatuses(v view) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for _, c := range v.Pod.Spec.InitContainers {
		s := v.States[c.Name]
		status := containerStatus(c, s)
		status.Ready = succeeded(s)
		out = append(out, status)
	}
	return out
}

// containerStatuses are sorted by name, as kubelet's.
func containerStatuses(v view) []corev1.ContainerStatus {
	out := []corev1.ContainerStatus{}
	for _, c := range v.Pod.Spec.Containers {
		out = append(out, containerStatus(c, v.States[c.Name]))
	}
	slices.SortFunc(out, func(a, b corev1.ContainerStatus) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func containerStatus(c corev1.Container, s containerState) corev1.ContainerStatus {
	started := s.State.Running != nil && s.Started
	status := corev1.ContainerStatus{
		Name: c.Name, State: s.State, RestartCount: s.Restarts,
		Image: c.Image, ImageID: s.ImageID, ContainerID: s.ID,
		Started: &started, Ready: started && s.Ready,
	}
	if s.Last != nil {
		status.LastTerminationState = corev1.ContainerState{Terminated: s.Last}
	}
	return status
}

// setCondition puts a condition into the list; its transition time is kept
// unless its status changes.
func setCondition(list []corev1.PodCondition, c corev1.PodCondition, now time.Time) []corev1.PodCondition {
	c.LastTransitionTime = seconds(now)
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
