package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// podPlan is what is to be done next for a pod.
type podPlan struct {
	// Start names the containers to start now.
	Start []string
	// Again is when the next start is due, zero when none is.
	Again time.Time
	// Finished says that no container of the pod will run any more.
	Finished bool
}

// planPod decides what to start: init containers one after the other, each until
// it has succeeded, and then all others; what has ended again where the pod's
// restart policy says so, not before its back-off.
func planPod(spec *corev1.PodSpec, states map[string]containerState, now time.Time) podPlan {
	for _, c := range spec.InitContainers {
		s := states[c.Name]
		switch {
		case succeeded(s):
			continue
		case s.State.Running != nil:
			return podPlan{}
		case s.State.Terminated != nil && !restartsAfter(spec, c.Name, s.State.Terminated.ExitCode):
			return podPlan{Finished: true}
		case now.Before(s.NotBefore):
			return podPlan{Again: s.NotBefore}
		}
		return podPlan{Start: []string{c.Name}}
	}
	plan := podPlan{Finished: true}
	for _, c := range spec.Containers {
		s := states[c.Name]
		if t := s.State.Terminated; t != nil && !restartsAfter(spec, c.Name, t.ExitCode) {
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

// restartsAfter says whether a container that ended with the code is started
// again. An init container is not, once it has succeeded.
func restartsAfter(spec *corev1.PodSpec, name string, code int32) bool {
	switch spec.RestartPolicy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return code != 0
	}
	return code != 0 || !isInit(spec, name)
}

func isInit(spec *corev1.PodSpec, name string) bool {
	for _, c := range spec.InitContainers {
		if c.Name == name {
			return true
		}
	}
	return false
}

// succeeded says that a container has ended with exit code 0.
func succeeded(s containerState) bool {
	return s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
}

// initialized says that every init container has succeeded.
func initialized(spec *corev1.PodSpec, states map[string]containerState) bool {
	for _, c := range spec.InitContainers {
		if !succeeded(states[c.Name]) {
			return false
		}
	}
	return true
}
