package verdict

import (
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// OfPod returns why the pod does not work, or nil: it has to be Ready, and each of
// its containers has to be running and ready. The sidecar's own container, which
// runs program, does not count: a sidecar that is not ready could never become ready
// again.
func OfPod(pod *corev1.Pod, program string) *Cause {
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
		case runs(container, program):
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

// lasting returns the containers that run as long as the pod: all except init
// containers, but including sidecar containers, which are init containers that are
// always restarted. See
// https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/
func lasting(spec *corev1.PodSpec) []corev1.Container {
	var list []corev1.Container
	for _, container := range spec.InitContainers {
		if container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			list = append(list, container)
		}
	}
	return append(list, spec.Containers...)
}

// runs reports whether the command of a container is program.
func runs(container corev1.Container, program string) bool {
	for _, words := range [][]string{container.Command, container.Args} {
		if len(words) > 0 && path.Base(words[0]) == program {
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

// containerProblem returns why a container is not running and ready, or "" if it
// is. It contains no time and no count, so that it does not change while it lasts.
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

// readyProblem evaluates the condition Ready of the pod, which also depends on
// readiness gates and on the node.
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

// containersNotReady is the kubelet's reason for a pod that is not Ready only because
// of its containers. See
// https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/kubelet/status/generate.go
const containersNotReady = "ContainersNotReady"

func orNone(reason string) string {
	if reason == "" {
		return "no reason given"
	}
	return reason
}
