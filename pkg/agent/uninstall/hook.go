// Package uninstall removes the copies when the add-on is deleted
// (docs/design.md#rule-6-uninstall, docs/design.md#uninstall).
//
// OCM runs the pre-delete hook, a Job in the install namespace, while the agent still
// runs. The hook (Hook) creates the ConfigMap manifests.UninstallMarker, waits until
// the agent answers on it that it has stopped, deletes the copies, and, when a fresh
// list shows none, the agent's lease. The agent asks gate.Check before every write, and
// does not renew its lease once it has stopped.
//
// The marker is a ConfigMap because the agent watches the ConfigMaps of the install
// namespace already, and a watch delivers changes in their order. So an agent that
// learns that a copy was deleted has seen the marker, also if it has lost the hub and
// cannot see that the add-on is being deleted. The marker is owned by the Job, or in
// hosted mode by the agent's ServiceAccount on the managed cluster. The garbage
// collector deletes it with its owner, after the agent was removed.
//
// If no agent answers, or the API server rejects the marker, the hook continues after a
// while, and completes when no copy comes back. It deletes only what the mirror owns
// (docs/design.md#rule-3-ownership).
package uninstall

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/internal/retry"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror/plan"
)

const (
	// answerTimeout is how long the hook waits for the agent's answer on the marker.
	// An agent that runs and can read the namespace answers within milliseconds.
	answerTimeout = 15 * time.Second
	// answerPeriod is the time between two checks for the answer.
	answerPeriod = 200 * time.Millisecond
	// maxRefusals is how often the API server may reject the marker before the hook
	// continues without it: 15 s after the first time.
	maxRefusals = 5
	// stablePeriod is how long there must be no copy if no agent has answered.
	stablePeriod = 10 * time.Second
	// unmarkedPeriod is the same if the marker could not be written. An agent that
	// has lost the hub then restores copies, at most a minute apart
	// (docs/design.md#rule-11-contest).
	unmarkedPeriod = 70 * time.Second
	// retryBase and retryMax bound the back-off between two passes. It has no end.
	retryBase = time.Second
	retryMax  = 30 * time.Second
	// requestTimeout bounds one request.
	requestTimeout = 30 * time.Second
	// removedTries and removedTimeout bound the final report to the hub. The hook
	// completes whether the hub answers or not.
	removedTries   = 2
	removedTimeout = 5 * time.Second
	// pageSize limits how many ConfigMaps, of up to 1 MiB each, are in memory.
	pageSize = 50
)

// Client reads, marks and deletes the ConfigMaps of the install namespace.
type Client interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.ConfigMap, error)
	List(ctx context.Context, options metav1.ListOptions) (*corev1.ConfigMapList, error)
	Create(ctx context.Context, object *corev1.ConfigMap, options metav1.CreateOptions) (*corev1.ConfigMap, error)
	Update(ctx context.Context, object *corev1.ConfigMap, options metav1.UpdateOptions) (*corev1.ConfigMap, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// LeaseClient deletes the leases of the install namespace.
type LeaseClient interface {
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// Config configures a Hook.
type Config struct {
	Scope plan.Scope
	// AddOn is the UID of the ManagedClusterAddOn that is being deleted.
	AddOn types.UID
	// Owner returns the owner of the marker, an object in the same namespace: the Job
	// that runs the hook, or, if the Job is on a hosting cluster, an object that is
	// removed with the agent. It returns nil if the hook is run by hand; the marker
	// then stays.
	Owner  func(ctx context.Context) (*metav1.OwnerReference, error)
	Client Client
	// Leases deletes the agent's lease, last. A lease that stayed would make the
	// add-on available when it is enabled again, before its agent runs.
	Leases LeaseClient
	// Report reports what is left. It is called when that changes, and again after it
	// has failed.
	Report func(ctx context.Context, message string) error
	// ReportRemoved reports to the hub that every copy and the lease are removed. OCM
	// learns that the Job is complete only when its work agent reads it again, which
	// can take a minute.
	ReportRemoved func(ctx context.Context) error
	Clock         clock.WithTicker
}

// Hook removes the copies.
type Hook struct {
	config Config
	// marked reports whether the marker is written, answered whether an agent has
	// stopped.
	marked, answered bool
	// most is the largest number of copies that a list has shown.
	most int
	// reported is the last message that Report has accepted.
	reported string
}

// New returns a Hook; Run starts it.
func New(config Config) *Hook {
	return &Hook{config: config}
}

// Run removes the copies, and the lease when a fresh list shows no copy. It retries
// without end: the only error is that ctx has ended.
func (h *Hook) Run(ctx context.Context) error {
	logger := klog.FromContext(ctx)
	if err := h.stopAgent(ctx); err != nil {
		return err
	}
	for passes := 1; ; passes++ {
		err := h.pass(ctx)
		if err == nil {
			err = h.finish(ctx)
		}
		switch {
		case err == nil:
			h.reportRemoved(ctx)
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("remove the copies: %w", context.Cause(ctx))
		}
		delay := retry.Delay(passes, retryBase, retryMax)
		logger.Error(err, "Failed to remove all copies, retrying", "delay", delay)
		h.report(ctx, err)
		if err := h.sleep(ctx, delay); err != nil {
			return err
		}
	}
}

// stopAgent writes the marker and waits for the agent's answer, at most answerTimeout.
//
// If the API server keeps rejecting the marker, for example because of a full quota or
// an admission policy, the hook continues without it. An agent that sees on the hub
// that the add-on is being deleted stops by itself. An agent that has lost the hub
// restores copies, and the hook deletes them until no copy comes back.
func (h *Hook) stopAgent(ctx context.Context) error {
	logger := klog.FromContext(ctx)
	refusals := 0
	for failures := 1; ; failures++ {
		err := h.mark(ctx)
		if err == nil {
			return h.awaitAnswer(ctx)
		}
		if refused(err) {
			refusals++
		}
		if refusals >= maxRefusals {
			err = fmt.Errorf("continuing without the marker that stops an agent that has lost the hub: %w", err)
			logger.Error(err, "Failed to write the marker")
			h.report(ctx, err)
			return nil
		}
		delay := retry.Delay(failures, retryBase, retryMax)
		logger.Error(err, "Failed to write the marker, retrying", "delay", delay)
		h.report(ctx, err)
		if err := h.sleep(ctx, delay); err != nil {
			return err
		}
	}
}

// awaitAnswer waits for the agent's answer, at most answerTimeout.
func (h *Hook) awaitAnswer(ctx context.Context) error {
	logger := klog.FromContext(ctx)
	start := h.config.Clock.Now()
	for h.config.Clock.Since(start) < answerTimeout {
		if h.readAnswer(ctx) {
			logger.Info("Agent has stopped")
			return nil
		}
		if err := h.sleep(ctx, answerPeriod); err != nil {
			return err
		}
	}
	logger.Info("Continuing without an answer: no agent runs, or it cannot read the namespace", "waited", answerTimeout)
	return nil
}

// mark writes the marker and records whether it is written.
func (h *Hook) mark(ctx context.Context) error {
	err := h.writeMarker(ctx)
	h.marked = err == nil
	return err
}

// writeMarker creates or updates the marker. In a namespace that is being deleted it
// does not exist, and no agent can create a copy there.
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

// refused reports whether the API server rejected a request for a reason that a retry
// does not change, for example a full quota. It is false without an answer, and if the
// API server is overloaded or cannot authenticate the client. An admission webhook
// whose service is gone results in an internal error; an admission policy may result
// in a conflict.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsInternalError(err) || apierrors.IsConflict(err)
}

// readAnswer reports whether an agent has answered that it has stopped.
func (h *Hook) readAnswer(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	marker, err := h.config.Client.Get(ctx, manifests.UninstallMarker, metav1.GetOptions{})
	h.answered = err == nil && Answered(marker, h.config.AddOn)
	return h.answered
}

// pass lists and deletes the copies. Its error is for the copies that a second list
// still shows.
func (h *Hook) pass(ctx context.Context) error {
	copies, err := h.list(ctx)
	if err != nil || len(copies) == 0 {
		return err
	}
	h.most = max(h.most, len(copies))
	var errs []error
	for i := range copies {
		if err := h.remove(ctx, copies[i]); err != nil {
			errs = append(errs, err)
		}
	}
	return h.left(ctx, errors.Join(errs...))
}

// left returns an error for the copies that a list shows, nil if it shows none.
func (h *Hook) left(ctx context.Context, cause error) error {
	copies, err := h.list(ctx)
	if err != nil || len(copies) == 0 {
		return err
	}
	h.most = max(h.most, len(copies))
	return &Remaining{Copies: copies, Most: h.most, Cause: cause}
}

// remove deletes a copy as it was listed: UID and resourceVersion are preconditions.
func (h *Hook) remove(ctx context.Context, found Copy) error {
	if found.Deleting {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := h.config.Client.Delete(ctx, found.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &found.UID, ResourceVersion: &found.ResourceVersion}})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		// Deleted or changed since: the next list shows it.
		return nil
	}
	return fmt.Errorf("delete ConfigMap %s: %w", found.Name, err)
}

// finish deletes the lease if no copy comes back. An agent that has answered writes no
// more. Without an answer the hook waits and lists again.
func (h *Hook) finish(ctx context.Context) error {
	if !h.marked {
		// The deleted copies may have made room in a quota.
		if err := h.mark(ctx); err != nil {
			klog.FromContext(ctx).Info("Failed to write the marker again", "reason", err.Error())
		}
	}
	if !h.answered && !h.readAnswer(ctx) {
		period := stablePeriod
		if !h.marked {
			period = unmarkedPeriod
		}
		if err := h.sleep(ctx, period); err != nil {
			return err
		}
	}
	// A write that was in flight when the agent answered has arrived by now.
	if err := h.left(ctx, nil); err != nil {
		return err
	}
	return h.dropLease(ctx)
}

// dropLease deletes the agent's lease. An agent that has stopped does not renew it.
func (h *Hook) dropLease(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := h.config.Leases.Delete(ctx, manifests.AgentLease, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete Lease %s: %w", manifests.AgentLease, err)
	}
	return nil
}

// list reads the copies from the API server, without a cache.
func (h *Hook) list(ctx context.Context) ([]Copy, error) {
	var copies []Copy
	options := metav1.ListOptions{Limit: pageSize,
		LabelSelector: manifests.ManagedByLabel + "=" + manifests.ManagedByAgent}
	for {
		page, err := h.listPage(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("list the copies: %w", err)
		}
		copies = append(copies, Owned(h.config.Scope, page.Items)...)
		if options.Continue = page.Continue; options.Continue == "" {
			return copies, nil
		}
	}
}

func (h *Hook) listPage(ctx context.Context, options metav1.ListOptions) (*corev1.ConfigMapList, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return h.config.Client.List(ctx, options)
}

// report reports an error if it differs from the last one that was reported.
func (h *Hook) report(ctx context.Context, err error) {
	message := err.Error()
	if message == h.reported {
		return
	}
	if err := h.config.Report(ctx, message); err != nil {
		klog.FromContext(ctx).Info("Failed to report to the hub, retrying", "reason", err.Error())
		return
	}
	h.reported = message
}

// reportRemoved reports that every copy is removed, if the hub answers.
func (h *Hook) reportRemoved(ctx context.Context) {
	for range removedTries {
		err := h.tryReportRemoved(ctx)
		if err == nil {
			return
		}
		klog.FromContext(ctx).Info("Failed to report the end of the uninstall", "reason", err.Error())
	}
}

func (h *Hook) tryReportRemoved(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, removedTimeout)
	defer cancel()
	return h.config.ReportRemoved(ctx)
}

func (h *Hook) sleep(ctx context.Context, delay time.Duration) error {
	if !retry.Sleep(ctx, h.config.Clock, delay) {
		return fmt.Errorf("remove the copies: %w", context.Cause(ctx))
	}
	return nil
}
