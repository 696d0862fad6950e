package plan

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// debugCapability is the only capability that an ephemeral container may add: the profile
// general of kubectl debug does. It reaches the processes that the container can see.
const debugCapability = corev1.Capability("SYS_PTRACE")

// ephemeral returns the pod's ephemeral containers as ordinary ones.
func ephemeral(spec *corev1.PodSpec) []corev1.Container {
	var out []corev1.Container
	for _, c := range spec.EphemeralContainers {
		out = append(out, corev1.Container(c.EphemeralContainerCommon))
	}
	return out
}

// IsEphemeral reports whether the pod has an ephemeral container of the name.
func IsEphemeral(spec *corev1.PodSpec, name string) bool {
	return slices.ContainsFunc(spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool { return c.Name == name })
}

// TargetOf returns the name of the container whose processes an ephemeral container shares,
// empty for none.
func TargetOf(spec *corev1.PodSpec, name string) string {
	for _, c := range spec.EphemeralContainers {
		if c.Name == name {
			return c.TargetContainerName
		}
	}
	return ""
}

// UnsupportedEphemeral returns the settings of an ephemeral container that this node does
// not support, as Unsupported does for a pod's other containers.
func UnsupportedEphemeral(c corev1.Container) []string {
	c = *c.DeepCopy()
	if c.SecurityContext != nil && c.SecurityContext.Capabilities != nil {
		add := &c.SecurityContext.Capabilities.Add
		*add = slices.DeleteFunc(*add, func(added corev1.Capability) bool { return added == debugCapability })
	}
	refused := refusals{}
	refused.container(c)
	return refused
}

// AddedCapabilities returns the capabilities that a container adds.
func AddedCapabilities(c corev1.Container) []string {
	if c.SecurityContext == nil || c.SecurityContext.Capabilities == nil {
		return nil
	}
	var names []string
	for _, added := range c.SecurityContext.Capabilities.Add {
		names = append(names, string(added))
	}
	return names
}

// startEphemeral adds the ephemeral containers that have not been started to the step. As in
// kubelet, they start beside init containers, and never again:
// https://kubernetes.io/docs/concepts/workloads/pods/ephemeral-containers/
func (s *Step) startEphemeral(spec *corev1.PodSpec, states map[string]ContainerState, now time.Time) {
	for _, c := range spec.EphemeralContainers {
		state := states[c.Name]
		if waiting := state.State.Waiting; waiting == nil || state.ID != "" || waiting.Reason == ReasonUnsupported {
			continue
		}
		s.due(c.Name, state, now)
	}
}
