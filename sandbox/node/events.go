package node

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// podEvents records the events of one pod. A warning that says the same as the
// last one of its reason and container is not repeated.
type podEvents struct {
	recorder record.EventRecorder
	mu       sync.Mutex
	last     map[string]string
}

func newPodEvents(recorder record.EventRecorder) *podEvents {
	return &podEvents{recorder: recorder, last: map[string]string{}}
}

// normal records something that went as it should.
func (e *podEvents) normal(pod *corev1.Pod, container, reason, format string, args ...any) {
	e.recorder.Eventf(eventTarget(pod, container), corev1.EventTypeNormal, reason, format, args...)
}

// warn records a problem, once until it changes.
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

// settled forgets a problem that is over, so that it is told again when it returns.
func (e *podEvents) settled(container, reason string) {
	e.mu.Lock()
	delete(e.last, container+"/"+reason)
	e.mu.Unlock()
}

// eventTarget is the pod, or one of its containers, as kubelet names it.
func eventTarget(pod *corev1.Pod, container string) *corev1.ObjectReference {
	target := &corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		ResourceVersion: pod.ResourceVersion,
	}
	if container != "" {
		list := "containers"
		if plan.IsInit(&pod.Spec, container) {
			list = "initContainers"
		}
		target.FieldPath = fmt.Sprintf("spec.%s{%s}", list, container)
	}
	return target
}

// warningsOnly keeps virtual-kubelet's own events about what went well out of
// the users' sight: they tell of its provider, not of the pod.
type warningsOnly struct{ record.EventRecorder }

func (r warningsOnly) Event(object runtime.Object, eventType, reason, message string) {
	if eventType == corev1.EventTypeWarning {
		r.EventRecorder.Event(object, eventType, reason, message)
	}
}
