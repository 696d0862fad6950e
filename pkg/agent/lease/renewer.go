package lease

import (
	"context"
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
	// renewals is how often the lease is renewed within its duration, as the
	// kubelet does with a node's: with the default of 60 s every 15 s. OCM
	// calls the agent unavailable after 5 minutes without a renewal.
	renewals = 4
	// jitter spreads the renewals of many agents: each period is longer by up
	// to this part of it.
	jitter = 0.05
	// healthPeriod is how often an agent that is not healthy is asked again.
	healthPeriod = 250 * time.Millisecond
	// retryBase is the wait after a first failed renewal; it doubles with each
	// further one, up to the period.
	retryBase = 500 * time.Millisecond
	// requestTimeout bounds each request.
	requestTimeout = 10 * time.Second
)

// Config is what a Renewer works with.
type Config struct {
	Spec   Spec
	Client Client
	// Healthy returns nil as long as the lease may be renewed.
	Healthy func() error
	Clock   clock.WithTicker
}

// Renewer keeps one lease renewed.
type Renewer struct {
	config Config
	// last is the lease as the API server returned it; nil makes the next
	// renewal read it first.
	last     *coordinationv1.Lease
	failures int
	paused   bool
}

// New makes a Renewer that does nothing until it is run.
func New(config Config) *Renewer {
	return &Renewer{config: config}
}

// Run renews the lease until ctx ends. It leaves the lease behind as it is:
// an agent that is restarted or updated is not unavailable.
func (r *Renewer) Run(ctx context.Context) {
	for {
		wait := r.step(ctx)
		select {
		case <-ctx.Done():
			return
		case <-r.config.Clock.After(wait):
		}
	}
}

// step renews the lease if it may, and returns how long to wait.
func (r *Renewer) step(ctx context.Context) time.Duration {
	logger := klog.FromContext(ctx).WithValues("lease", klog.KRef(r.config.Spec.Namespace, r.config.Spec.Name))
	if err := r.config.Healthy(); err != nil {
		if !r.paused {
			logger.Info("Not renewing the lease until the agent is healthy", "reason", err.Error())
		}
		r.paused = true
		return healthPeriod
	}
	period := r.config.Spec.Duration / renewals
	if err := r.renew(ctx); err != nil {
		if ctx.Err() == nil && r.failures == 0 {
			logger.Error(err, "Cannot renew the lease, trying again")
		}
		r.failures++
		return backoff(r.failures, period)
	}
	if r.failures > 0 || r.paused {
		logger.Info("Renewing the lease", "period", period)
	}
	r.failures, r.paused = 0, false
	return period + time.Duration(rand.Float64()*jitter*float64(period))
}

// renew writes the lease by one request where the lease is as it was left, and
// reads it first where it is not.
func (r *Renewer) renew(ctx context.Context) error {
	if r.last != nil {
		err := r.update(ctx, r.last)
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
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

// backoff is how long to wait after so many failures, at least 1.
func backoff(failures int, limit time.Duration) time.Duration {
	wait := retryBase
	for range failures - 1 {
		if wait >= limit {
			break
		}
		wait *= 2
	}
	return min(wait, limit)
}
