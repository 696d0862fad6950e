package program

import (
	"context"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	eventsclient "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// NewEventRecorder returns a recorder of events in the name of a program. The events are sent while the manager runs. It
// differs from the manager's own recorder where the API server forbids events: it logs that once, not for each event.
func NewEventRecorder(mgr manager.Manager, name string) (events.EventRecorder, error) {
	client, err := eventsclient.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make the client of events: %w", err)
	}
	broadcaster := events.NewBroadcaster(&eventSink{EventSink: &events.EventSinkImpl{Interface: client}})
	if err := mgr.Add(eventSender{broadcaster}); err != nil {
		return nil, fmt.Errorf("add the sender of events: %w", err)
	}
	return broadcaster.NewRecorder(mgr.GetScheme(), name), nil
}

// eventSender sends the events of a broadcaster. It is a Runnable.
type eventSender struct{ broadcaster events.EventBroadcaster }

// NeedLeaderElection reports false: the sender starts before the runnables that record events.
func (eventSender) NeedLeaderElection() bool { return false }

// Start sends events until ctx ends.
func (s eventSender) Start(ctx context.Context) error {
	defer s.broadcaster.Shutdown()
	if err := s.broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return fmt.Errorf("send events: %w", err)
	}
	<-ctx.Done()
	return nil
}

// eventSink drops events that the API server forbids.
type eventSink struct {
	events.EventSink
	logged atomic.Bool
}

// Create implements [events.EventSink].
func (s *eventSink) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	created, err := s.EventSink.Create(ctx, event)
	return created, s.unlessForbidden(ctx, err)
}

// Patch implements [events.EventSink].
func (s *eventSink) Patch(ctx context.Context, event *eventsv1.Event, data []byte) (*eventsv1.Event, error) {
	patched, err := s.EventSink.Patch(ctx, event, data)
	return patched, s.unlessForbidden(ctx, err)
}

// unlessForbidden returns the error of a request, but nil for a right that is missing. It logs the first of those.
func (s *eventSink) unlessForbidden(ctx context.Context, err error) error {
	// The API server also answers Forbidden in a namespace that is being deleted.
	if !apierrors.IsForbidden(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return err
	}
	if !s.logged.Swap(true) {
		klog.FromContext(ctx).Info("Events are forbidden, leaving them out", "err", err,
			"missingRule", MissingRule(err, "create", "patch"))
	}
	return nil
}
