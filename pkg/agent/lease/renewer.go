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
)

// Client reads and writes the leases of one namespace.
type Client interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*coordinationv1.Lease, error)
	Create(ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions) (*coordinationv1.Lease, error)
	Update(ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions) (*coordinationv1.Lease, error)
}

const (
	// healthPeriod is how often an agent that is not healthy is asked again.
	healthPeriod = 250 * time.Millisecond
	// requestTimeout bounds each request.
	requestTimeout = 10 * time.Second
)

// Config is what a Renewer works with.
type Config struct {
	Spec   Spec
	Client Client
	// Healthy returns nil as long as the lease may be renewed.
	Healthy func() error
	// Renewed, where set, is told the result of each attempt to renew, and
	// Paused why there is none; neither may block.
	Renewed func(error)
	Paused  func(reason error)
	// Explain, where set, makes of a failure the error to log and to tell, and a
	// word that stays the same as long as the cause is the same one.
	Explain func(error) (cause string, explained error)
	Clock   clock.WithTicker
	// Random gives numbers from 0 up to, but without, 1. nil: math/rand.
	Random func() float64
}

// Renewer keeps one lease renewed.
type Renewer struct {
	config Config
	// last is the lease as the API server returned it; nil makes the next
	// renewal read it first.
	last *coordinationv1.Lease
	// failures in a row. steady: the last attempt was a renewal.
	failures int
	steady   bool
	// said is what was logged last, so that it is logged once.
	said string
}

// New makes a Renewer that does nothing until it is run.
func New(config Config) *Renewer {
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

// Run renews the lease until ctx ends. It leaves the lease behind as it is:
// an agent that is restarted or updated is not unavailable.
func (r *Renewer) Run(ctx context.Context) {
	for {
		timer := r.config.Clock.NewTimer(r.step(ctx))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
	}
}

// step renews the lease if it may, and returns how long to wait.
func (r *Renewer) step(ctx context.Context) time.Duration {
	logger := klog.FromContext(ctx).WithValues("lease", klog.KRef(r.config.Spec.Namespace, r.config.Spec.Name))
	if reason := r.config.Healthy(); reason != nil {
		if r.says("paused: " + reason.Error()) {
			logger.Info("Not renewing the lease until the agent is healthy", "reason", reason.Error())
		}
		r.steady = false
		r.config.Paused(reason)
		return healthPeriod
	}
	period := Period(r.config.Spec.Duration)
	err := r.renew(ctx)
	if ctx.Err() != nil {
		return period
	}
	if err != nil {
		cause, explained := r.config.Explain(err)
		if r.says("failed: " + cause) {
			logger.Error(explained, "Cannot renew the lease, trying again")
		}
		r.config.Renewed(explained)
		r.steady = false
		r.failures++
		return afterFailure(r.failures, period, r.config.Random())
	}
	if r.says("renewing") {
		logger.Info("Renewing the lease", "period", period)
	}
	r.config.Renewed(nil)
	r.failures = 0
	if !r.steady {
		r.steady = true
		return afterFirst(period, r.config.Random(), r.config.Random())
	}
	return afterRenewal(period, r.config.Random())
}

// says remembers what is logged; false: it was said already.
func (r *Renewer) says(what string) bool {
	if r.said == what {
		return false
	}
	r.said = what
	return true
}

// cause is what makes an error another one than the one before: the API
// server's reason. An error of the network names ports, which always differ.
func cause(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return string(status.Status().Reason) + " " + status.Status().Message
	}
	return ""
}

// renew writes the lease by one request where the lease is as it was left, and
// reads it first where it is not.
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
	lease, err := r.config.Client.Create(ctx, Next(r.config.Spec, nil, r.config.Clock.Now()), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create lease: %w", err)
	}
	r.last = lease
	return nil
}

func (r *Renewer) update(ctx context.Context, present *coordinationv1.Lease) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	lease, err := r.config.Client.Update(ctx, Next(r.config.Spec, present, r.config.Clock.Now()), metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("update lease: %w", err)
	}
	r.last = lease
	return nil
}
