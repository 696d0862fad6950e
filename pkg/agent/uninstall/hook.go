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

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror/plan"
)

const (
	// stablePeriod is how long no copy may be there where no agent answered.
	stablePeriod = 10 * time.Second
	// unmarkedPeriod is the same where the marker could not be written: an agent
	// that has lost the hub then puts copies back, at most a minute apart.
	unmarkedPeriod = 70 * time.Second
	// A pass that leaves something is followed by the next one after
	// retryBase, then after twice that, and so on up to retryMax, without end.
	retryBase = time.Second
	retryMax  = 30 * time.Second
	// requestTimeout bounds one request.
	requestTimeout = 30 * time.Second
	// removedTries is how often the hub is told that every copy is removed, and
	// removedTimeout bounds one try. The hook ends whether the hub answers or not.
	removedTries   = 2
	removedTimeout = 5 * time.Second
	// pageSize is how many ConfigMaps, of up to 1 MiB each, are in memory.
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

// Config is what a Hook works with.
type Config struct {
	Scope plan.Scope
	// AddOn is the UID of the ManagedClusterAddOn that is being deleted.
	AddOn types.UID
	// Owner finds what the marker goes with, which has to be in the same namespace:
	// the Job that runs the hook, or, where that is on a hosting cluster, something
	// that is removed with the agent. It returns nil where it is run by hand, and
	// the marker stays.
	Owner  func(ctx context.Context) (*metav1.OwnerReference, error)
	Client Client
	// Leases has the agent's lease, which goes last: one that stays behind would
	// make the add-on look available when it is enabled again, before its agent
	// runs.
	Leases LeaseClient
	// Report is told what is left, when it changes, and again where it failed.
	Report func(ctx context.Context, message string) error
	// ReportRemoved tells the hub that every copy and the lease are removed. OCM
	// sees that the Job is complete only when its work agent looks again.
	ReportRemoved func(ctx context.Context) error
	Clock         clock.WithTicker
}

// Hook removes the copies.
type Hook struct {
	config Config
	// marked says that the marker is there, and answered that an agent has
	// stopped.
	marked, answered bool
	// most is the greatest number of copies that there were.
	most int
	told string
}

// New makes a Hook that does nothing until it is run.
func New(config Config) *Hook {
	return &Hook{config: config}
}

// Run removes the copies, and the lease when a fresh list shows no copy. It tries
// without end: the only error is that ctx ended before.
func (h *Hook) Run(ctx context.Context) error {
	logger := klog.FromContext(ctx)
	if err := h.stopAgent(ctx); err != nil {
		return err
	}
	for wait := retryBase; ; wait = min(2*wait, retryMax) {
		err := h.pass(ctx)
		if err == nil {
			err = h.finish(ctx)
		}
		switch {
		case err == nil:
			h.tellRemoved(ctx)
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("remove the copies: %w", context.Cause(ctx))
		}
		logger.Error(err, "Not everything is removed, trying again", "wait", wait)
		h.tell(ctx, err)
		if err := h.sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// pass deletes the copies that there are. The error says what is left by a list
// that is made afterwards, and why.
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

// left is the error for the copies that a list shows, nil where it shows none.
func (h *Hook) left(ctx context.Context, cause error) error {
	copies, err := h.list(ctx)
	if err != nil || len(copies) == 0 {
		return err
	}
	h.most = max(h.most, len(copies))
	return &Remaining{Copies: copies, Most: h.most, Cause: cause}
}

// remove deletes the very object that was listed.
func (h *Hook) remove(ctx context.Context, found Copy) error {
	if found.Deleting {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := h.config.Client.Delete(ctx, found.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &found.UID, ResourceVersion: &found.ResourceVersion}})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		// Gone, or changed: the next list says.
		return nil
	}
	return fmt.Errorf("delete ConfigMap %s: %w", found.Name, err)
}

// finish deletes the lease when the copies stay away. An agent that has answered
// writes no more; where none has, time has to tell.
func (h *Hook) finish(ctx context.Context) error {
	if !h.marked {
		// The copies that were deleted may have made room in a quota.
		if err := h.mark(ctx); err != nil {
			klog.FromContext(ctx).Info("Still cannot tell the agent to stop", "reason", err.Error())
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
	// What was on its way when the agent answered has arrived since.
	if err := h.left(ctx, nil); err != nil {
		return err
	}
	return h.dropLease(ctx)
}

// dropLease deletes the agent's lease. An agent that has stopped for the
// uninstall does not renew it any more.
func (h *Hook) dropLease(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := h.config.Leases.Delete(ctx, manifests.AgentLease, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete Lease %s: %w", manifests.AgentLease, err)
	}
	return nil
}

// list reads the copies from the API server, from no cache.
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

// tell reports when there is something new.
func (h *Hook) tell(ctx context.Context, err error) {
	message := err.Error()
	if message == h.told {
		return
	}
	if err := h.config.Report(ctx, message); err != nil {
		klog.FromContext(ctx).Info("Cannot tell the hub what is left, trying again", "reason", err.Error())
		return
	}
	h.told = message
}

// tellRemoved tells the hub that every copy is removed, if it can.
func (h *Hook) tellRemoved(ctx context.Context) {
	for range removedTries {
		err := h.reportRemoved(ctx)
		if err == nil {
			return
		}
		klog.FromContext(ctx).Info("Cannot tell the hub that every copy is removed", "reason", err.Error())
	}
}

func (h *Hook) reportRemoved(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, removedTimeout)
	defer cancel()
	return h.config.ReportRemoved(ctx)
}

func (h *Hook) sleep(ctx context.Context, wait time.Duration) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("remove the copies: %w", context.Cause(ctx))
	case <-h.config.Clock.After(wait):
		return nil
	}
}
