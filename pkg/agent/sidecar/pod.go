package sidecar

import (
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Program is the name of the program, by which it finds its own container.
const Program = "klusterlet-addon-lease-controller"

// PodProblem says why the pod does not work, or nil: it has to be Ready, and
// every container of it but the sidecar's own has to be running and ready. The
// sidecar's own readiness is left out, so that a sidecar that is not ready does
// not keep itself from becoming so.
func PodProblem(pod *corev1.Pod) *Cause {
	switch {
	case pod == nil:
		return &Cause{PodMissing, "the pod does not exist"}
	case pod.DeletionTimestamp != nil:
		return &Cause{PodEnding, "the pod is being deleted"}
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return &Cause{PodEnding, "the pod has ended: " + string(pod.Status.Phase)}
	}
	var problems []string
	ownReady := true
	for _, container := range lasting(&pod.Spec) {
		problem := containerProblem(container.Name, statusOf(&pod.Status, container.Name))
		switch {
		case isOwn(container):
			ownReady = problem == ""
		case problem != "":
			problems = append(problems, problem)
		}
	}
	if len(problems) > 0 {
		return &Cause{ContainerNotReady, strings.Join(problems, "; ")}
	}
	return readyProblem(&pod.Status, ownReady)
}

// lasting are the containers that run as long as the pod does: not the init
// containers, but for those that are restarted always.
func lasting(spec *corev1.PodSpec) []corev1.Container {
	var list []corev1.Container
	for _, container := range spec.InitContainers {
		if container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			list = append(list, container)
		}
	}
	return append(list, spec.Containers...)
}

// isOwn says whether a container runs this program.
func isOwn(container corev1.Container) bool {
	for _, words := range [][]string{container.Command, container.Args} {
		if len(words) > 0 && path.Base(words[0]) == Program {
			return true
		}
	}
	return false
}

func statusOf(status *corev1.PodStatus, name string) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// containerProblem says why a container is not running and ready, empty: it is.
// It names no time and no count, so that it stays the same as long as it lasts.
func containerProblem(name string, status *corev1.ContainerStatus) string {
	switch {
	case status == nil:
		return fmt.Sprintf("container %s was not started yet", name)
	case status.State.Terminated != nil:
		end := status.State.Terminated
		return fmt.Sprintf("container %s has ended: %s, exit code %d", name, orNone(end.Reason), end.ExitCode)
	case status.State.Waiting != nil:
		return fmt.Sprintf("container %s is not running: %s", name, orNone(status.State.Waiting.Reason))
	case status.State.Running == nil:
		return fmt.Sprintf("container %s is not running", name)
	case !status.Ready:
		return fmt.Sprintf("container %s is not ready", name)
	default:
		return ""
	}
}

// readyProblem looks at the pod's own condition, of which the kubelet, readiness
// gates and the node's controller have a part.
func readyProblem(status *corev1.PodStatus, ownReady bool) *Cause {
	for i := range status.Conditions {
		condition := &status.Conditions[i]
		if condition.Type != corev1.PodReady {
			continue
		}
		switch {
		case condition.Status == corev1.ConditionTrue:
			return nil
		case condition.Reason == containersNotReady && !ownReady:
			return nil
		default:
			return &Cause{PodNotReady, "the pod is not Ready: " + orNone(condition.Reason)}
		}
	}
	return &Cause{PodNotReady, "the pod is not Ready yet"}
}

// containersNotReady is the kubelet's reason for a pod that is not Ready because
// of its containers and nothing else.
const containersNotReady = "ContainersNotReady"

func orNone(reason string) string {
	if reason == "" {
		return "no reason given"
	}
	return reason
}
