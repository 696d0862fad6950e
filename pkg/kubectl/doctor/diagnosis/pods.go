package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient/credentials"
)

// trouble is what is wrong with a pod.
type trouble struct {
	reason  Reason
	message string
}

// worst returns what is wrong with the pods of a workload, or nothing if one of them is ready or has just been created. It
// looks at the newest pod, which is the one of the present template.
func worst(w *Workload, now time.Time) trouble {
	var newest *corev1.Pod
	for _, pod := range w.Pods {
		if isReady(pod) {
			return trouble{}
		}
		if newest == nil || newest.CreationTimestamp.Before(&pod.CreationTimestamp) {
			newest = pod
		}
	}
	if newest == nil {
		return trouble{AgentNotCreated, "it has no pod"}
	}
	t := troubleOf(newest, w.Events)
	if starts := t.reason == AgentNotStarted || t.reason == AgentNotReady; starts && now.Sub(newest.CreationTimestamp.Time) < settles {
		return trouble{}
	}
	return t
}

func isReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// troubleOf returns why a pod is not ready.
func troubleOf(pod *corev1.Pod, events []corev1.Event) trouble {
	name := "pod " + pod.Namespace + "/" + pod.Name
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return trouble{AgentNotScheduled, fmt.Sprintf("%s cannot be scheduled: %s", name, c.Message)}
		}
	}
	if pod.Status.Phase == corev1.PodFailed {
		return trouble{AgentCrashes, fmt.Sprintf("%s has failed: %s %s", name, pod.Status.Reason, pod.Status.Message)}
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if t := containerTrouble(name, c); t.reason != "" {
			return t
		}
	}
	if pod.Status.Phase == corev1.PodPending {
		return trouble{AgentNotStarted, fmt.Sprintf("%s does not start: %s", name, lastWarning(pod, events))}
	}
	return trouble{AgentNotReady, fmt.Sprintf("%s runs and is not ready: %s", name, lastWarning(pod, events))}
}

func containerTrouble(pod string, c corev1.ContainerStatus) trouble {
	waiting, ended := c.State.Waiting, c.State.Terminated
	if ended == nil {
		ended = c.LastTerminationState.Terminated
	}
	switch {
	case waiting != nil && slices.Contains([]string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable"}, waiting.Reason):
		return trouble{AgentImageNotPulled, fmt.Sprintf("%s cannot pull the image %s: %s: %s", pod, c.Image, waiting.Reason, waiting.Message)}
	case ended != nil && ended.ExitCode != 0 && (waiting != nil || c.State.Terminated != nil):
		return trouble{AgentCrashes, fmt.Sprintf("container %s of %s ends with exit code %d (%s), %d restarts: %s",
			c.Name, pod, ended.ExitCode, ended.Reason, c.RestartCount, lastLine(ended.Message))}
	case waiting != nil && waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing":
		return trouble{AgentNotStarted, fmt.Sprintf("container %s of %s does not start: %s: %s", c.Name, pod, waiting.Reason, waiting.Message)}
	default:
		return trouble{}
	}
}

// lastLine returns the last line that is not empty: of a long log it is the one that explains the end.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return last
	}
	return "its log has the cause"
}

// lastWarning returns the last warning about a pod.
func lastWarning(pod *corev1.Pod, events []corev1.Event) string {
	for _, event := range slices.Backward(events) {
		if event.InvolvedObject.Name == pod.Name && event.Type == corev1.EventTypeWarning {
			return event.Reason + ": " + event.Message
		}
	}
	return "no event tells why"
}

// lastState returns the last of the agent's own events, which names the state of its connection to the hub.
func lastState(w *Workload) *corev1.Event {
	for i := range slices.Backward(w.Events) {
		event := &w.Events[i]
		known := slices.Contains(credentialReasons, credentials.Reason(event.Reason)) || event.Reason == string(credentials.HubConnected)
		if known && (event.Source.Component == manifests.AgentName || event.ReportingController == manifests.AgentName) {
			return event
		}
	}
	return nil
}
