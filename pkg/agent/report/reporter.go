// Package report reports the state of the mirror to people: in the condition
// ConfigMapsSynced on the ManagedClusterAddOn (docs/design.md#rule-9-reported), and in
// Events on ConfigMaps of the hub and on the agent's own pod.
//
// Package condition computes the condition. Reporter writes it by server-side apply
// with a field manager of its own, so that it owns this one condition only. It writes
// when the condition changes, at most once a second. Events that exceed the rate are
// dropped: the condition and the metrics count them all.
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

	"open-cluster-management.io/helloworld-addon/internal/retry"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/report/condition"
)

const (
	// settle is the time between a change and the report. A ConfigMap that changes
	// is in sync again by then, and 2,000 changes at once make one report.
	settle = time.Second
	// firstSettle is the same for the first report.
	firstSettle = time.Millisecond
	// messagePeriod is the shortest time between two reports of which only the
	// message differs.
	messagePeriod = 5 * time.Second
	// troublePeriod is the time between two checks whether both sides can be read. A
	// side that becomes unreadable does not call Notify.
	troublePeriod = 5 * time.Second
	// retryBase and retryMax bound the back-off of a report that fails.
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

// Config configures a Reporter.
type Config struct {
	// AddOn returns the last known ManagedClusterAddOn, nil if there is none.
	AddOn func() *condition.AddOn
	// State returns the state to report. Trouble returns the part of it that changes
	// without a call of Notify.
	State   func() condition.State
	Trouble func() string
	Patcher Patcher
	Clock   clock.WithTicker
}

// Reporter keeps the condition on the hub up to date.
type Reporter struct {
	config  Config
	changed retry.Signal

	// written is the time of the last successful write, failures the number of
	// failed writes since then, trouble the trouble of the last step.
	written  time.Time
	failures int
	trouble  string
}

// New returns a Reporter; Run starts it.
func New(config Config) *Reporter {
	return &Reporter{config: config, changed: retry.NewSignal()}
}

// Notify makes the reporter compare the state with the condition. It does not block.
func (r *Reporter) Notify() { r.changed.Notify() }

// Run reports until ctx ends.
func (r *Reporter) Run(ctx context.Context) {
	for r.await(ctx) {
		for wait := r.settle(); wait > 0; wait = r.step(ctx) {
			if !retry.Sleep(ctx, r.config.Clock, wait) {
				return
			}
		}
	}
}

// await waits for a notification, or for a change of the trouble. It returns false when
// ctx ended.
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

// settle returns the wait between a change and the report. The mirror waits for the
// first report of an add-on (see uninstall/gate).
func (r *Reporter) settle() time.Duration {
	if addOn := r.config.AddOn(); addOn != nil && addOn.Condition == nil {
		return firstSettle
	}
	return settle
}

// step writes the condition if it differs. It returns the time until the next step,
// zero if the next one is due when the state changes.
func (r *Reporter) step(ctx context.Context) time.Duration {
	// The state includes every change that was notified so far.
	r.changed.Clear()
	addOn := r.config.AddOn()
	if addOn == nil {
		return 0
	}
	state := r.config.State()
	r.trouble = state.Trouble
	wanted := condition.Of(state)
	switch condition.Compare(addOn.Condition, wanted) {
	case condition.Same:
		r.failures = 0
		return 0
	case condition.OtherMessage:
		if wait := messagePeriod - r.config.Clock.Since(r.written); wait > 0 {
			return wait
		}
	case condition.Other:
	}
	logger := klog.FromContext(ctx)
	if err := Write(ctx, r.config.Patcher, addOn, wanted, r.config.Clock.Now()); err != nil {
		if ctx.Err() == nil && r.failures == 0 {
			logger.Error(err, "Failed to write condition, retrying")
		}
		r.failures++
		return retry.Delay(r.failures, retryBase, retryMax)
	}
	r.failures, r.written = 0, r.config.Clock.Now()
	logger.Info("Wrote condition", "status", wanted.Status, "reason", wanted.Reason, "message", wanted.Message)
	// The watch event of the new condition calls Notify.
	return 0
}

// Write sets the add-on's condition.
func Write(ctx context.Context, patcher Patcher, addOn *condition.AddOn, wanted metav1.Condition, now time.Time) error {
	body, err := condition.Configuration(addOn, wanted, now)
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
