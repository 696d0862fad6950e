package node

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// podEvents records the events of one pod. It drops a warning that equals the last
// one of the same reason and container.
type podEvents struct {
	recorder record.EventRecorder
	mu       sync.Mutex
	last     map[string]string
}

func newPodEvents(recorder record.EventRecorder) *podEvents {
	return &podEvents{recorder: recorder, last: map[string]string{}}
}

// normal records an event of type Normal.
func (e *podEvents) normal(pod *corev1.Pod, container, reason, format string, args ...any) {
	e.recorder.Eventf(eventTarget(pod, container), corev1.EventTypeNormal, reason, format, args...)
}

// warn records an event of type Warning, unless its message is unchanged.
func (e *podEvents) warn(pod *corev1.Pod, container, reason, message string) {
	e.mu.Lock()
	key := container + "/" + reason
	known := e.last[key] == message
	e.last[key] = message
	e.mu.Unlock()
	if !known {
		e.recorder.Event(eventTarget(pod, container), corev1.EventTypeWarning, reason, message)
	}
}

// settled forgets the last warning, so that the same problem is recorded again when
// it returns.
func (e *podEvents) settled(container, reason string) {
	e.mu.Lock()
	delete(e.last, container+"/"+reason)
	e.mu.Unlock()
}

// eventTarget returns the reference to the pod, or to one of its containers in
// kubelet's form: spec.containers{NAME}.
func eventTarget(pod *corev1.Pod, container string) *corev1.ObjectReference {
	target := &corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		ResourceVersion: pod.ResourceVersion,
	}
	if container != "" {
		list := "containers"
		switch {
		case plan.IsInit(&pod.Spec, container):
			list = "initContainers"
		case plan.IsEphemeral(&pod.Spec, container):
			list = "ephemeralContainers"
		}
		target.FieldPath = fmt.Sprintf("spec.%s{%s}", list, container)
	}
	return target
}

// warningsOnly drops virtual-kubelet's own events of type Normal: they are about its
// provider, not about the pod.
type warningsOnly struct{ record.EventRecorder }

func (r warningsOnly) Event(object runtime.Object, eventType, reason, message string) {
	if eventType == corev1.EventTypeWarning {
		r.EventRecorder.Event(object, eventType, reason, message)
	}
}
