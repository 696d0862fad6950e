package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// isSidecar reports whether an init container runs beside the pod's ordinary containers:
// https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/
func isSidecar(c corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// sidecarIndex returns a sidecar's index among the init containers, -1 for any other
// container.
func sidecarIndex(spec *corev1.PodSpec, name string) int {
	return slices.IndexFunc(spec.InitContainers, func(c corev1.Container) bool { return c.Name == name && isSidecar(c) })
}

// MayEnd reports whether a container of a pod that is being ended may get SIGTERM. A sidecar
// ends after all containers that start after it.
func MayEnd(spec *corev1.PodSpec, name string, runs func(name string) bool) bool {
	i := sidecarIndex(spec, name)
	if i < 0 {
		return true
	}
	later := slices.Concat(spec.InitContainers[i+1:], spec.Containers)
	return !slices.ContainsFunc(later, func(c corev1.Container) bool { return runs(c.Name) })
}

// begun reports whether this run of the node has started an ordinary container, or starts
// none again. As in kubelet, the pod has been initialized then, also if a sidecar ends later.
// A container ID in the status is not enough: the API server may keep it longer than the
// node, for example in a snapshot.
func begun(spec *corev1.PodSpec, states map[string]ContainerState) bool {
	allOver := true
	for _, c := range spec.Containers {
		s := states[c.Name]
		if s.ID != "" && !s.Earlier {
			return true
		}
		allOver = allOver && over(spec, c.Name, s)
	}
	return allOver
}

// passed reports whether the containers after this init container may start: it has
// succeeded, or it is a sidecar that has started.
func passed(c corev1.Container, s ContainerState) bool {
	if isSidecar(c) {
		return s.State.Running != nil && s.Started && !s.PostStart
	}
	return succeeded(s)
}

// incomplete returns the names of the init containers that the pod waits for.
func incomplete(spec *corev1.PodSpec, states map[string]ContainerState) []string {
	if begun(spec, states) {
		return nil
	}
	var names []string
	for _, c := range spec.InitContainers {
		if !passed(c, states[c.Name]) {
			names = append(names, c.Name)
		}
	}
	return names
}
