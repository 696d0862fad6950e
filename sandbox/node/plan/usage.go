package plan

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// Usage is what a container has used.
type Usage struct {
	// CPU is the processor time so far.
	CPU time.Duration
	// Memory is the resident memory in bytes.
	Memory int64
}

// Selection selects pods by namespace (empty for all), labels and metadata.name or
// metadata.namespace.
type Selection struct {
	Namespace string
	Labels    labels.Selector
	Fields    fields.Selector
}

// Matches reports whether the object is selected.
func (s Selection) Matches(o metav1.Object) bool {
	return (s.Namespace == "" || s.Namespace == o.GetNamespace()) && s.Labels.Matches(labels.Set(o.GetLabels())) &&
		s.Fields.Matches(fields.Set{"metadata.name": o.GetName(), "metadata.namespace": o.GetNamespace()})
}

// ContainerMetrics returns a container's usage between two measurements.
func ContainerMetrics(name string, before, after Usage, window time.Duration) metricsv1beta1.ContainerMetrics {
	used := max(after.CPU-before.CPU, 0) // less than before when it has ended
	return metricsv1beta1.ContainerMetrics{Name: name, Usage: corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewScaledQuantity(int64(float64(used)/window.Seconds()), resource.Nano),
		corev1.ResourceMemory: *resource.NewQuantity(after.Memory, resource.BinarySI),
	}}
}

// PodMetrics returns the metrics of a pod.
func PodMetrics(pod *corev1.Pod, containers []metricsv1beta1.ContainerMetrics, at time.Time, window time.Duration) metricsv1beta1.PodMetrics {
	slices.SortFunc(containers, func(a, b metricsv1beta1.ContainerMetrics) int { return strings.Compare(a.Name, b.Name) })
	return metricsv1beta1.PodMetrics{
		TypeMeta:   metav1.TypeMeta{APIVersion: metricsv1beta1.SchemeGroupVersion.String(), Kind: "PodMetrics"},
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, Labels: pod.Labels, CreationTimestamp: Seconds(at)},
		Timestamp:  Seconds(at), Window: metav1.Duration{Duration: window}, Containers: containers,
	}
}

// NodeMetrics returns the metrics of a node: the sum of its pods.
func NodeMetrics(node *corev1.Node, pods []metricsv1beta1.PodMetrics, at time.Time, window time.Duration) metricsv1beta1.NodeMetrics {
	cpu, memory := resource.NewScaledQuantity(0, resource.Nano), resource.NewQuantity(0, resource.BinarySI)
	for _, pod := range pods {
		for _, c := range pod.Containers {
			cpu.Add(c.Usage[corev1.ResourceCPU])
			memory.Add(c.Usage[corev1.ResourceMemory])
		}
	}
	return metricsv1beta1.NodeMetrics{
		TypeMeta:   metav1.TypeMeta{APIVersion: metricsv1beta1.SchemeGroupVersion.String(), Kind: "NodeMetrics"},
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: node.Labels, CreationTimestamp: Seconds(at)},
		Timestamp:  Seconds(at), Window: metav1.Duration{Duration: window},
		Usage: corev1.ResourceList{corev1.ResourceCPU: *cpu, corev1.ResourceMemory: *memory},
	}
}
