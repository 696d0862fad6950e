package sidecar

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
)

// EventClient writes Events.
type EventClient interface {
	Create(ctx context.Context, event *corev1.Event, options metav1.CreateOptions) (*corev1.Event, error)
	Patch(ctx context.Context, name string, patchType types.PatchType, body []byte, options metav1.PatchOptions,
		subresources ...string) (*corev1.Event, error)
}

const (
	// reasonRenewing is the reason of the Event that says that all is well.
	reasonRenewing = "LeaseRenewing"
	// maxMessage is what an Event's message may have.
	maxMessage = 1024
	// eventTimeout bounds the writing of an Event.
	eventTimeout = 10 * time.Second
)

// reporter tells what becomes of the lease: by Events on the pod when that
// changes, and by numbers.
type reporter struct {
	clock   clock.PassiveClock
	metrics *metrics
	// event writes one on the pod; false: it cannot, the pod is not known yet.
	event func(kind, reason, message string) bool

	mu sync.Mutex
	// told is the reason of the last Event.
	told string
	// lease is why the last renewal failed or was left out, nil: it was done.
	lease error
}

var errNoRenewalYet = errors.New("not renewed yet")

func newReporter(clock clock.PassiveClock, metrics *metrics, event func(kind, reason, message string) bool) *reporter {
	return &reporter{clock: clock, metrics: metrics, event: event, lease: errNoRenewalYet}
}

// renewed is told the result of each attempt to renew, nil or a *Cause.
func (r *reporter) renewed(result error) {
	var cause *Cause
	if errors.As(result, &cause) {
		r.metrics.failed(cause.Reason)
	} else {
		r.metrics.renewed(r.clock.Now())
	}
	r.say(result)
}

// say is told why the lease is not renewed, a *Cause, or nil that it was. It
// writes an Event where the reason is another one than before.
func (r *reporter) say(result error) {
	var cause *Cause
	errors.As(result, &cause)
	kind, reason, message := corev1.EventTypeNormal, reasonRenewing, "the lease is renewed"
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lease = nil
	if cause != nil {
		r.lease = cause
		kind, reason, message = corev1.EventTypeWarning, string(cause.Reason), "the lease is not renewed: "+cause.Message
	}
	if cause != nil && cause.Reason == Starting || r.told == reason {
		return
	}
	if len(message) > maxMessage {
		message = message[:maxMessage-3] + "..."
	}
	if r.event(kind, reason, message) {
		r.told = reason
	}
}

// leaseProblem returns why the lease is not renewed, or nil if it is.
func (r *reporter) leaseProblem() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lease == nil {
		return nil
	}
	return fmt.Errorf("not renewed: %w", r.lease)
}

// events writes Events on one pod.
type events struct {
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder
	pod         types.NamespacedName
	uid         func() types.UID
}

func newEvents(ctx context.Context, client EventClient, pod types.NamespacedName, uid func() types.UID) *events {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(sink{ctx: ctx, client: client})
	return &events{broadcaster: broadcaster, pod: pod, uid: uid,
		recorder: broadcaster.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: Program})}
}

// write hands an Event to be written.
func (e *events) write(kind, reason, message string) bool {
	uid := e.uid()
	if uid == "" {
		return false
	}
	e.recorder.Event(&corev1.ObjectReference{APIVersion: "v1", Kind: "Pod",
		Namespace: e.pod.Namespace, Name: e.pod.Name, UID: uid}, kind, reason, message)
	return true
}

func (e *events) close() { e.broadcaster.Shutdown() }

// sink hands Events to a client. Its context is that of all writing: the
// broadcaster hands in none.
type sink struct {
	//nolint:containedctx // record.EventSink has no context.
	ctx    context.Context
	client EventClient
}

func (s sink) Create(event *corev1.Event) (*corev1.Event, error) {
	ctx, cancel := context.WithTimeout(s.ctx, eventTimeout)
	defer cancel()
	return s.client.Create(ctx, event, metav1.CreateOptions{})
}

// Update is not used by the broadcaster, which patches.
func (s sink) Update(event *corev1.Event) (*corev1.Event, error) { return event, nil }

func (s sink) Patch(event *corev1.Event, body []byte) (*corev1.Event, error) {
	ctx, cancel := context.WithTimeout(s.ctx, eventTimeout)
	defer cancel()
	return s.client.Patch(ctx, event.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{})
}
