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
)

// Events go to the hub at most at this rate: a person reads them one by one.
// What is dropped is counted by the condition and the metrics.
const (
	eventsPerSecond = 1
	eventsBurst     = 25
)

// Reasons of the Events.
const (
	// EventConflict: somebody else's ConfigMap has the name.
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

// Events writes Events on the hub's ConfigMaps.
type Events struct {
	namespace   string
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder
	limit       *rate.Limiter
	clock       clock.PassiveClock
}

// NewEvents starts writing the events on ConfigMaps of namespace on the hub.
// Close ends it.
func NewEvents(ctx context.Context, client EventClient, namespace string, clock clock.PassiveClock) *Events {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(sink{ctx: ctx, client: client})
	return &Events{
		namespace: namespace, broadcaster: broadcaster,
		recorder: broadcaster.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: manifests.AgentName}),
		limit:    rate.NewLimiter(eventsPerSecond, eventsBurst),
		clock:    clock,
	}
}

// Close ends the writing.
func (e *Events) Close() { e.broadcaster.Shutdown() }

// Warn writes an event on the ConfigMap of this name and UID on the hub.
func (e *Events) Warn(name string, uid types.UID, reason, message string) {
	if uid == "" || !e.limit.AllowN(e.clock.Now(), 1) {
		return
	}
	e.recorder.Event(&corev1.ObjectReference{
		APIVersion: corev1.SchemeGroupVersion.String(), Kind: "ConfigMap",
		Namespace: e.namespace, Name: name, UID: uid,
	}, corev1.EventTypeWarning, reason, shorten(message, maxMessage))
}

// sink hands events to a client. Its context is that of all writing: the
// broadcaster hands in none.
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

// Update is not used by the broadcaster, which patches.
func (s sink) Update(event *corev1.Event) (*corev1.Event, error) {
	return event, nil
}

func (s sink) Patch(event *corev1.Event, body []byte) (*corev1.Event, error) {
	ctx, cancel := context.WithTimeout(s.ctx, requestTimeout)
	defer cancel()
	return s.client.Patch(ctx, event.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{})
}
