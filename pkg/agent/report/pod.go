package report

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// Pod is the pod that the agent runs in.
type Pod struct {
	Namespace, Name string
	UID             types.UID
}

// PodEvents writes Events on the agent's own pod, for what has to be told where
// there is no hub to tell. client-go's recorder counts one that repeats instead
// of writing it again.
type PodEvents struct {
	pod         *corev1.ObjectReference
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder
}

// NewPodEvents starts writing the events on pod; client is for its namespace.
// Close ends it.
func NewPodEvents(ctx context.Context, client EventClient, pod Pod) *PodEvents {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(sink{ctx: ctx, client: client})
	return &PodEvents{
		pod: &corev1.ObjectReference{APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Pod",
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		broadcaster: broadcaster,
		recorder:    broadcaster.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: manifests.AgentName}),
	}
}

// Close ends the writing.
func (e *PodEvents) Close() { e.broadcaster.Shutdown() }

// Write writes an event, of type Warning or Normal.
func (e *PodEvents) Write(warning bool, reason, message string) {
	kind := corev1.EventTypeNormal
	if warning {
		kind = corev1.EventTypeWarning
	}
	e.recorder.Event(e.pod, kind, reason, shorten(message, maxMessage))
}
