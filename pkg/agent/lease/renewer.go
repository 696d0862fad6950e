// Package lease renews the Lease by which OCM's registration agent knows that an
// add-on's agent works. The agent uses it, and so does the lease sidecar of other
// add-ons.
//
// Renewer asks a health check and writes the lease. Package plan decides what the
// lease contains and how long to wait. There is no leader election: the holder is the
// program that renews. See docs/design.md#lease.
package lease

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/internal/retry"
	"open-cluster-management.io/helloworld-addon/pkg/agent/lease/plan"
)

// Spec is the desired lease.
type Spec = plan.Spec

// Client reads and writes the leases of one namespace.
type Client interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*coordinationv1.Lease, error)
	Create(ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions) (*coordinationv1.Lease, error)
	Update(ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions) (*coordinationv1.Lease, error)
}

const (
	// healthPeriod is the time between two health checks while the agent is not
	// healthy.
	healthPeriod = 250 * time.Millisecond
	// checkPeriod is the longest time between two health checks otherwise, so that
	// a problem is reported before the next renewal is due.
	checkPeriod = 5 * time.Second
	// requestTimeout bounds each request.
	requestTimeout = 10 * time.Second
)

// Config configures a Renewer.
type Config struct {
	Spec Spec
	// Period is the time between two renewals, which jitter makes up to a tenth
	// longer. The default is a quarter of the duration in Spec.
	Period time.Duration
	Client Client
	// Healthy returns nil while the lease may be renewed, otherwise the reason why
	// it may not.
	Healthy func() error
	// Renewed, if set, gets the result of each attempt to renew. Paused, if set,
	// gets the reason why there is no attempt. Neither may block.
	Renewed func(error)
	Paused  func(reason error)
	// Explain, if set, returns the error to log and to pass to Renewed for a
	// failure. Failures of the same cause are logged once.
	Explain func(error) (cause string, explained error)
	Clock   clock.WithTicker
	// Random returns a number of at least 0 and less than 1. The default is
	// math/rand.
	Random func() float64
}

// Renewer keeps one lease renewed.
type Renewer struct {
	config Config
	// last is the lease as the API server returned it. While it is nil the next
	// renewal reads the lease first.
	last *coordinationv1.Lease
	// failures is the number of consecutive failed renewals.
	failures int
	// due is when the next renewal is due, or was due while it fails. It is zero before
	// the first one.
	due time.Time
	// attempt is when the next attempt is: at due, or after the back-off of a failure.
	// It is zero after a pause, which an attempt ends at once.
	attempt time.Time
	// logged is the last state that was logged, so that each is logged once.
	logged string
}

// New returns a Renewer; Run starts it.
func New(config Config) *Renewer {
	if config.Period == 0 {
		config.Period = plan.Period(config.Spec.Duration)
	}
	if config.Random == nil {
		config.Random = rand.Float64
	}
	if config.Renewed == nil {
		config.Renewed = func(error) {}
	}
	if config.Paused == nil {
		config.Paused = func(error) {}
	}
	if config.Explain == nil {
		config.Explain = func(err error) (string, error) { return cause(err), err }
	}
	return &Renewer{config: config}
}

// Run renews the lease until ctx ends. It does not delete the lease: an agent that
// restarts or is updated stays available.
func (r *Renewer) Run(ctx context.Context) {
	for retry.Sleep(ctx, r.config.Clock, r.step(ctx)) {
	}
}

// step renews the lease if the agent is healthy and it is time for an attempt. It
// returns the time until the next step.
func (r *Renewer) step(ctx context.Context) time.Duration {
	logger := klog.FromContext(ctx).WithValues("lease", klog.KRef(r.config.Spec.Namespace, r.config.Spec.Name))
	if reason := r.config.Healthy(); reason != nil {
		if r.isNew("paused: " + reason.Error()) {
			logger.Info("Paused lease renewal", "reason", reason.Error())
		}
		r.config.Paused(reason)
		r.attempt = time.Time{}
		return healthPeriod
	}
	if !r.config.Clock.Now().Before(r.attempt) {
		err := r.renew(ctx)
		if ctx.Err() != nil {
			return checkPeriod
		}
		r.attempt = r.report(logger, err)
	}
	return min(r.attempt.Sub(r.config.Clock.Now()), checkPeriod)
}

// report reports the result of an attempt to renew. It returns when the next one is.
func (r *Renewer) report(logger klog.Logger, err error) time.Time {
	if err != nil {
		cause, explained := r.config.Explain(err)
		if r.isNew("failed: " + cause) {
			logger.Error(explained, "Failed to renew lease, retrying")
		}
		r.config.Renewed(explained)
		r.failures++
		return r.config.Clock.Now().Add(plan.AfterFailure(r.failures, r.config.Period, r.config.Random()))
	}
	if r.isNew("renewing") {
		logger.Info("Renewing lease", "period", r.config.Period)
	}
	r.config.Renewed(nil)
	r.failures = 0
	return r.next()
}

// next returns when the next renewal is due. A renewal that was late because of an
// outage or a pause does not move the next ones: otherwise all agents that waited for an
// API server would stay together once it is back.
func (r *Renewer) next() time.Time {
	now := r.config.Clock.Now()
	if r.due.IsZero() {
		r.due = now.Add(plan.AfterFirst(r.config.Period, r.config.Random()))
	}
	for !r.due.After(now) {
		r.due = r.due.Add(plan.AfterRenewal(r.config.Period, r.config.Random()))
	}
	return r.due
}

// isNew reports whether state differs from the state that was logged last, and
// remembers it.
func (r *Renewer) isNew(state string) bool {
	if r.logged == state {
		return false
	}
	r.logged = state
	return true
}

// cause returns the part of an error by which two failures are the same: the API
// server's reason and message. It is empty for a network error, whose text contains a
// different port each time.
func cause(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return string(status.Status().Reason) + " " + status.Status().Message
	}
	return ""
}

// renew writes the lease. It needs one request if the lease has not changed since
// the last renewal, and otherwise reads it first.
func (r *Renewer) renew(ctx context.Context) error {
	if r.last != nil {
		err := r.update(ctx, r.last)
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !apierrors.IsInvalid(err) {
			return err
		}
		r.last = nil
	}
	present, err := r.get(ctx)
	if err != nil {
		return err
	}
	if present == nil {
		return r.create(ctx)
	}
	return r.update(ctx, present)
}

func (r *Renewer) get(ctx context.Context) (*coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	present, err := r.config.Client.Get(ctx, r.config.Spec.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get lease: %w", err)
	default:
		return present, nil
	}
}

func (r *Renewer) create(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	lease, err := r.config.Client.Create(ctx, plan.Next(r.config.Spec, nil, r.config.Clock.Now()), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create lease: %w", err)
	}
	r.last = lease
	return nil
}

func (r *Renewer) update(ctx context.Context, present *coordinationv1.Lease) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	lease, err := r.config.Client.Update(ctx, plan.Next(r.config.Spec, present, r.config.Clock.Now()), metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("update lease: %w", err)
	}
	r.last = lease
	return nil
}
