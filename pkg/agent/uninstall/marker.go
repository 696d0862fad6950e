package uninstall

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/manifests"
)

const (
	// answerTimeout is how long an agent may take to answer on the marker. One
	// that runs and can read the namespace takes milliseconds.
	answerTimeout = 15 * time.Second
	// answerPeriod is how often the answer is looked for.
	answerPeriod = 200 * time.Millisecond
	// maxRefusals is how often the API server may refuse the marker before the
	// hook goes on without it, 15 s after the first time.
	maxRefusals = 5
)

// stopAgent marks the namespace and waits until an agent has answered, or the
// time for that is over.
//
// Where the API server keeps refusing the marker, for example because of a full
// quota or of an admission policy, the hook goes on without it. An agent that
// sees on the hub that the add-on is being deleted stops by itself. One that has
// lost the hub brings copies back, which the hook then removes until they stay
// away.
func (h *Hook) stopAgent(ctx context.Context) error {
	logger := klog.FromContext(ctx)
	refusals := 0
	for wait := retryBase; ; wait = min(2*wait, retryMax) {
		err := h.mark(ctx)
		if err == nil {
			break
		}
		if refused(err) {
			refusals++
		}
		if refusals >= maxRefusals {
			err = fmt.Errorf("going on without the marker that stops an agent that has lost the hub: %w", err)
			logger.Error(err, "Cannot tell the agent to stop")
			h.tell(ctx, err)
			return nil
		}
		logger.Error(err, "Cannot tell the agent to stop, trying again", "wait", wait)
		h.tell(ctx, err)
		if err := h.sleep(ctx, wait); err != nil {
			return err
		}
	}
	start := h.config.Clock.Now()
	for h.config.Clock.Since(start) < answerTimeout {
		if h.readAnswer(ctx) {
			logger.Info("The agent has stopped")
			return nil
		}
		if err := h.sleep(ctx, answerPeriod); err != nil {
			return err
		}
	}
	logger.Info("No agent has answered: none runs, or it cannot read the namespace", "waited", answerTimeout)
	return nil
}

// mark writes the marker, and remembers whether it is there.
func (h *Hook) mark(ctx context.Context) error {
	err := h.writeMarker(ctx)
	h.marked = err == nil
	return err
}

// writeMarker creates the marker, or brings the present one up to date. In a
// namespace that is being deleted there is none, and no agent can create a copy.
func (h *Hook) writeMarker(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	present, err := h.config.Client.Get(ctx, manifests.UninstallMarker, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("get ConfigMap %s: %w", manifests.UninstallMarker, err)
	}
	if apierrors.IsNotFound(err) {
		present = nil
	}
	owner, err := h.config.Owner(ctx)
	if err != nil {
		return err
	}
	wanted, err := Marker(present, h.config, owner)
	switch {
	case err != nil || wanted == nil:
		return err
	case present == nil:
		_, err = h.config.Client.Create(ctx, wanted, metav1.CreateOptions{FieldManager: manifests.AgentName})
	default:
		_, err = h.config.Client.Update(ctx, wanted, metav1.UpdateOptions{FieldManager: manifests.AgentName})
	}
	if err != nil && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return fmt.Errorf("write ConfigMap %s: %w", manifests.UninstallMarker, err)
	}
	return nil
}

// refused reports whether the API server has refused a request for a reason that
// another try does not change by itself, for example a full quota. It is false
// where there was no answer, and where the API server is overloaded or does not
// know who asks. An admission webhook whose service is gone is answered with an
// internal error, an admission policy may answer with a conflict.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsInternalError(err) || apierrors.IsConflict(err)
}

// readAnswer says whether an agent has stopped.
func (h *Hook) readAnswer(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	marker, err := h.config.Client.Get(ctx, manifests.UninstallMarker, metav1.GetOptions{})
	h.answered = err == nil && Answered(marker, h.config.AddOn)
	return h.answered
}
