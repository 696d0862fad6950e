package node

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// addresses are what the downward API says of the pod's and the node's network.
type addresses struct {
	Pod, Host string
}

// fieldValue is what the downward API gives for a field of the pod.
func fieldValue(pod *corev1.Pod, at addresses, path string) (string, error) {
	if name, key, ok := subscript(path); ok {
		switch name {
		case "metadata.labels":
			return pod.Labels[key], nil
		case "metadata.annotations":
			return pod.Annotations[key], nil
		}
	}
	switch path {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "metadata.labels":
		return formatMap(pod.Labels), nil
	case "metadata.annotations":
		return formatMap(pod.Annotations), nil
	case "spec.nodeName":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.hostIP", "status.hostIPs":
		return at.Host, nil
	case "status.podIP", "status.podIPs":
		return at.Pod, nil
	}
	return "", fmt.Errorf("field %q of a pod is not one that the downward API has", path)
}

// subscript takes metadata.labels['key'] apart.
func subscript(path string) (name, key string, ok bool) {
	name, rest, found := strings.Cut(path, "['")
	key, closed := strings.CutSuffix(rest, "']")
	return name, key, found && closed
}

// formatMap writes labels or annotations as kubelet does: sorted key="value" lines.
func formatMap(m map[string]string) string {
	lines := make([]string, 0, len(m))
	for key, value := range m {
		lines = append(lines, fmt.Sprintf("%v=%q", key, value))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// resourceValue is what the downward API gives for a container's request or
// limit: a number of the divisor's units, rounded up. A limit that is not set is
// the node's.
func resourceValue(c corev1.Container, node corev1.ResourceList, selector corev1.ResourceFieldSelector) (string, error) {
	kind, name, _ := strings.Cut(selector.Resource, ".")
	var quantity resource.Quantity
	switch kind {
	case "requests":
		quantity = c.Resources.Requests[corev1.ResourceName(name)]
	case "limits":
		limit, set := c.Resources.Limits[corev1.ResourceName(name)]
		if !set {
			limit = node[corev1.ResourceName(name)]
		}
		quantity = limit
	default:
		return "", fmt.Errorf("resource %q of container %q is neither a request nor a limit", selector.Resource, c.Name)
	}
	divisor := selector.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	if name == string(corev1.ResourceCPU) {
		return ceilDiv(quantity.MilliValue(), divisor.MilliValue()), nil
	}
	return ceilDiv(quantity.Value(), divisor.Value()), nil
}

func ceilDiv(value, divisor int64) string {
	return fmt.Sprintf("%d", int64(math.Ceil(float64(value)/float64(divisor))))
}
