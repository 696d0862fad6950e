// Package podstate reads what explains the state of a pod: the states of its containers and the ends of their logs.
package podstate

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/ptr"
)

// tailLines is the number of lines of a log that Tail reads: the stack of a Go panic may follow its message.
const tailLines = 200

// Statuses returns the statuses of a pod's containers, those of its init containers first.
func Statuses(p *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses)
}

// Ready reports whether a pod is ready or has succeeded.
func Ready(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// Tail returns the last 200 lines of a container's log: of its last run, or with previous of the run before. It
// is empty if there is no such log, or if it cannot be read.
func Tail(ctx context.Context, pods corev1client.PodInterface, pod, container string, previous bool) string {
	options := &corev1.PodLogOptions{Container: container, Previous: previous, TailLines: ptr.To[int64](tailLines)}
	content, err := pods.GetLogs(pod, options).DoRaw(ctx)
	if err != nil || len(strings.TrimSpace(string(content))) == 0 {
		return ""
	}
	return string(content)
}

// Excerpt returns at most n lines of a log: the last ones, or those around the message of a Go panic, which
// a long stack follows.
func Excerpt(log string, n int) []string {
	lines := strings.Split(strings.TrimRight(log, "\r\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], "\r")
	}
	start := max(0, len(lines)-n)
	panicked := slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
	})
	if panicked >= 0 {
		start = min(start, max(0, panicked-n/4))
	}
	return lines[start:min(len(lines), start+n)]
}
