package program

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
)

// answering is an API server that answers each event with the same error.
type answering struct {
	events.EventSink
	err error
}

func (a answering) Create(context.Context, *eventsv1.Event) (*eventsv1.Event, error) {
	return nil, a.err
}

func (a answering) Patch(context.Context, *eventsv1.Event, []byte) (*eventsv1.Event, error) {
	return nil, a.err
}

// TestForbiddenEvents: events without the right are left out, which is logged once. Every other answer is left to client-go.
func TestForbiddenEvents(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "events.k8s.io", Resource: "events"}, "", errors.New("no right"))
	terminating := apierrors.NewForbidden(schema.GroupResource{Group: "events.k8s.io", Resource: "events"}, "", errors.New("being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for _, test := range []struct {
		name         string
		answer, want error
		lines        int
	}{
		{"allowed", nil, nil, 0},
		{"no right", forbidden, nil, 1},
		{"a namespace that is being deleted", terminating, terminating, 0},
		{"the API server is away", errors.New("away"), errors.New("away"), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
			ctx, sink := klog.NewContext(t.Context(), logger), &eventSink{EventSink: answering{err: test.answer}}
			for range 3 {
				_, created := sink.Create(ctx, &eventsv1.Event{})
				_, patched := sink.Patch(ctx, &eventsv1.Event{}, nil)
				for _, err := range []error{created, patched} {
					if (err == nil) != (test.want == nil) || err != nil && err.Error() != test.want.Error() {
						t.Errorf("got %v, want %v", err, test.want)
					}
				}
			}
			logged := logger.GetSink().(ktesting.Underlier).GetBuffer().String()
			if got := strings.Count(logged, `missingRule="{apiGroups: [events.k8s.io], resources: [events], verbs: [create, patch]}"`); got != test.lines {
				t.Errorf("%d lines name the missing rule, want %d:\n%s", got, test.lines, logged)
			}
		})
	}
}

// TestMissingRule: the core group has an empty name, which YAML needs quotes for.
func TestMissingRule(t *testing.T) {
	err := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no right"))
	if got, want := MissingRule(err, "list"), `{apiGroups: [""], resources: [pods], verbs: [list]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
