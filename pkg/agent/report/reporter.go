package report

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

const (
	// settle is how long a change is waited on before it is looked at: a
	// ConfigMap that changes is in sync again by then, and 2,000 at once are
	// not 2,000 reports.
	settle = time.Second
	// firstSettle is that of the very first report.
	firstSettle = time.Millisecond
	// messagePeriod is how often at most a report is written that differs in
	// its message only.
	messagePeriod = 5 * time.Second
	// troublePeriod is how often it is looked whether both sides can be read,
	// of which there is no event.
	troublePeriod = 5 * time.Second
	// A report that fails is written again after retryBase, then after twice
	// that, and so on up to retryMax.
	retryBase = time.Second
	retryMax  = time.Minute
	// requestTimeout bounds one request.
	requestTimeout = 10 * time.Second
)

// Patcher patches ManagedClusterAddOns of the cluster's namespace on the hub.
type Patcher interface {
	Patch(ctx context.Context, name string, patchType types.PatchType, body []byte, options metav1.PatchOptions,
		subresources ...string) (*addonv1alpha1.ManagedClusterAddOn, error)
}

// Config is what a Reporter works with.
type Config struct {
	// AddOn returns the ManagedClusterAddOn as it is known, nil for none.
	AddOn func() *AddOn
	// State returns what there is to report. Trouble is the part of it that
	// changes without a call of Notify.
	State   func() State
	Trouble func() string
	Patcher Patcher
	Clock   clock.WithTicker
}

// Reporter keeps the condition on the hub up to date.
type Reporter struct {
	config  Config
	changed chan struct{}

	written  time.Time
	failures int
	trouble  string
}

// New makes a Reporter that does nothing until it is run.
func New(config Config) *Reporter {
	return &Reporter{config: config, changed: make(chan struct{}, 1)}
}

// Notify says that there may be something to report. It does not block.
func (r *Reporter) Notify() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// Run reports until ctx ends.
func (r *Reporter) Run(ctx context.Context) {
	for r.await(ctx) {
		for wait := r.settle(); wait > 0; wait = r.step(ctx) {
			if !r.sleep(ctx, wait) {
				return
			}
		}
	}
}

// sleep returns false when ctx ended first.
func (r *Reporter) sleep(ctx context.Context, wait time.Duration) bool {
	timer := r.config.Clock.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}

// await waits for something to report; false: ctx ended.
func (r *Reporter) await(ctx context.Context) bool {
	ticker := r.config.Clock.NewTicker(troublePeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-r.changed:
			return true
		case <-ticker.C():
			if r.config.Trouble() != r.trouble {
				return true
			}
		}
	}
}

// settle is how long to wait before the first look. The first report of all is
// waited for by the mirror.
func (r *Reporter) settle() time.Duration {
	if addOn := r.config.AddOn(); addOn != nil && addOn.Condition == nil {
		return firstSettle
	}
	return settle
}

// step writes the condition where it differs, and returns how long to wait
// before it has to be looked at again, zero for until something changes.
func (r *Reporter) step(ctx context.Context) time.Duration {
	// What was notified until now is in the state.
	select {
	case <-r.changed:
	default:
	}
	addOn := r.config.AddOn()
	if addOn == nil {
		return 0
	}
	state := r.config.State()
	r.trouble = state.Trouble
	wanted := Condition(state)
	switch Compare(addOn.Condition, wanted) {
	case Same:
		r.failures = 0
		return 0
	case OtherMessage:
		if wait := messagePeriod - r.config.Clock.Since(r.written); wait > 0 {
			return wait
		}
	case Other:
	}
	logger := klog.FromContext(ctx)
	if err := Write(ctx, r.config.Patcher, addOn, wanted, r.config.Clock.Now()); err != nil {
		if ctx.Err() == nil && r.failures == 0 {
			logger.Error(err, "Cannot report to the hub, trying again")
		}
		r.failures++
		return backoff(r.failures)
	}
	r.failures, r.written = 0, r.config.Clock.Now()
	logger.Info("Reported to the hub", "status", wanted.Status, "reason", wanted.Reason, "message", wanted.Message)
	// The hub's event with the new condition leads to another look.
	return 0
}

// Write makes wanted the add-on's condition.
func Write(ctx context.Context, patcher Patcher, addOn *AddOn, wanted metav1.Condition, now time.Time) error {
	body, err := Configuration(addOn, wanted, now)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	force := true
	_, err = patcher.Patch(ctx, addOn.Name, types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: manifests.AgentName, Force: &force}, "status")
	if err != nil {
		return fmt.Errorf("apply condition %s of ManagedClusterAddOn %s/%s: %w", wanted.Type, addOn.Namespace, addOn.Name, err)
	}
	return nil
}

// backoff is how long to wait after so many failures, at least 1.
func backoff(failures int) time.Duration {
	wait := retryBase
	for range failures - 1 {
		if wait >= retryMax {
			break
		}
		wait *= 2
	}
	return min(wait, retryMax)
}
