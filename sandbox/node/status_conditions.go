package node

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The reasons of pods' conditions, which are kubelet's.
const (
	reasonPodCompleted           = "PodCompleted"
	reasonPodFailed              = "PodFailed"
	reasonContainersNotReady     = "ContainersNotReady"
	reasonContainersNotInit      = "ContainersNotInitialized"
	reasonReadinessGatesNotReady = "ReadinessGatesNotReady"
)

// conditions are the ones that a node sets, from the rest of the status.
func conditions(status corev1.PodStatus, v view) []corev1.PodCondition {
	ready := containersReady(status)
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

func podInitialized(status corev1.PodStatus, v view) corev1.PodCondition {
	c := corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}
	if status.Phase == corev1.PodSucceeded {
		c.Reason = reasonPodCompleted
	}
	var incomplete []string
	for _, container := range v.Pod.Spec.InitContainers {
		if !succeeded(v.States[container.Name]) {
			incomplete = append(incomplete, container.Name)
		}
	}
	if len(incomplete) > 0 {
		c.Status, c.Reason = corev1.ConditionFalse, reasonContainersNotInit
		c.Message = fmt.Sprintf("containers with incomplete status: %s", incomplete)
	}
	return c
}

// containersReady is the condition that all containers are ready.
func containersReady(status corev1.PodStatus) corev1.PodCondition {
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

// podReady is containers that are ready and readiness gates that are open.
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
