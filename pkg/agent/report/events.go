package report

import (
	"context"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/report/condition"
)

// Reasons of the Events on ConfigMaps.
const (
	// EventConflict: a ConfigMap of another owner has the name of the copy.
	EventConflict = "CopyConflict"
	// EventFailed: the copy cannot be written.
	EventFailed = "CopyFailed"
	// EventContested: another writer keeps changing the copy.
	EventContested = "CopyContested"
)

// EventClient writes Events.
type EventClient interface {
	Create(ctx context.Context, event *corev1.Event, options metav1.CreateOptions) (*corev1.Event, error)
	Patch(ctx context.Context, name string, patchType types.PatchType, body []byte, options metav1.PatchOptions,
		subresources ...string) (*corev1.Event, error)
}

// Recorder writes Events in the background. An Event that repeats increases the count
// of the first one.
type Recorder struct {
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder
}

// NewRecorder returns a Recorder that writes until ctx ends or Close is called.
// Component is the source of its Events.
func NewRecorder(ctx context.Context, client EventClient, component string) *Recorder {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(sink{ctx: ctx, client: client})
	return &Recorder{broadcaster: broadcaster,
		recorder: broadcaster.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: component})}
}

// Write writes an Event on an object. Kind is corev1.EventTypeNormal or
// corev1.EventTypeWarning. It does not block.
func (r *Recorder) Write(object *corev1.ObjectReference, kind, reason, message string) {
	r.recorder.Event(object, kind, reason, condition.Shorten(message))
}

// Close stops the writing.
func (r *Recorder) Close() { r.broadcaster.Shutdown() }

// PodReference returns the reference of a pod in an Event.
func PodReference(namespace, name string, uid types.UID) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: name, UID: uid}
}

// The rate of Events on the hub. A person reads them one by one; the condition and the
// metrics count the ones that are dropped.
const (
	eventsPerSecond = 1
	eventsBurst     = 25
)

// Events writes Events on the hub's ConfigMaps, at a limited rate.
type Events struct {
	namespace string
	recorder  *Recorder
	limit     *rate.Limiter
	clock     clock.PassiveClock
}

// NewEvents returns Events for the ConfigMaps in a namespace on the hub. It writes
// until ctx ends or Close is called.
func NewEvents(ctx context.Context, client EventClient, namespace string, clock clock.PassiveClock) *Events {
	return &Events{
		namespace: namespace,
		recorder:  NewRecorder(ctx, client, manifests.AgentName),
		limit:     rate.NewLimiter(eventsPerSecond, eventsBurst),
		clock:     clock,
	}
}

// Close stops the writing.
func (e *Events) Close() { e.recorder.Close() }

// Warn writes an Event on the ConfigMap of this name and UID on the hub.
func (e *Events) Warn(name string, uid types.UID, reason, message string) {
	if uid == "" || !e.limit.AllowN(e.clock.Now(), 1) {
		return
	}
	e.recorder.Write(&corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: e.namespace, Name: name, UID: uid},
		corev1.EventTypeWarning, reason, message)
}

// sink passes Events to a client. record.EventSink has no context, so the sink stores
// the one of its Recorder.
type sink struct {
	//nolint:containedctx // record.EventSink has no context.
	ctx    context.Context
	client EventClient
}

func (s sink) Create(event *corev1.Event) (*corev1.Event, error) {
	ctx, cancel := context.WithTimeout(s.ctx, requestTimeout)
	defer cancel()
	return s.client.Create(ctx, event, metav1.CreateOptions{})
}

// Update is not called: the broadcaster patches.
func (s sink) Update(event *corev1.Event) (*corev1.Event, error) {
	return event, nil
}

func (s sink) Patch(event *corev1.Event, body []byte) (*corev1.Event, error) {
	ctx, cancel := context.WithTimeout(s.ctx, requestTimeout)
	defer cancel()
	return s.client.Patch(ctx, event.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{})
}
