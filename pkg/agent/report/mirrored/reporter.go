// Package mirrored reports the state of each ConfigMap to programs, in the status of the cluster's
// ConfigMapMirror on the hub (docs/design.md#rule-12-mirror-status).
//
// plan.Scope.MirrorStatus computes the status. Reporter writes it by server-side apply when it
// changes, at most once a second. Mirroring does not depend on the report: without the
// ConfigMapMirror, or without the right to write it, ConfigMaps are copied as usual.
package mirrored

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/internal/retry"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror/plan"
)

const (
	// settle is the time between a change and the report, and so the shortest time between two.
	settle = time.Second
	// retryBase and retryMax bound the back-off of a report that fails. absentMax is the limit
	// where the object, its CRD or the right to write it is missing.
	retryBase = time.Second
	retryMax  = time.Minute
	absentMax = 5 * time.Minute
	// requestTimeout bounds one request.
	requestTimeout = 10 * time.Second
)

// Client reads and patches ConfigMapMirrors of the cluster's namespace on the hub.
type Client interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*v1alpha1.ConfigMapMirror, error)
	Patch(ctx context.Context, name string, patchType types.PatchType, body []byte, options metav1.PatchOptions,
		subresources ...string) (*v1alpha1.ConfigMapMirror, error)
}

// Config configures a Reporter.
type Config struct {
	// Cluster is the cluster's name, and its namespace on the hub.
	Cluster string
	// Ready reports whether there is something to report: both sides are listed, and the mirror
	// may write.
	Ready func() bool
	// Status returns the status to report at a time. before are the entries of the previous one.
	Status func(before []v1alpha1.MirroredConfigMap, now time.Time) v1alpha1.ConfigMapMirrorStatus
	Client Client
	Clock  clock.WithTicker
}

// Reporter keeps the status of the ConfigMapMirror up to date.
type Reporter struct {
	config  Config
	changed retry.Signal

	// present is the status on the hub, nil if there is none. It is valid while known is set: it is
	// read once, and again after a failure or Reread. Nothing else writes it
	// (docs/design.md#rule-7-silence).
	present *v1alpha1.ConfigMapMirrorStatus
	known   bool
	reread  atomic.Bool
	// last are the entries of the last report. They outlive a deletion of the object.
	last []v1alpha1.MirroredConfigMap
	// failures is the number of failed steps since the last one that succeeded.
	failures int
}

// New returns a Reporter; Run starts it.
func New(config Config) *Reporter {
	return &Reporter{config: config, changed: retry.NewSignal()}
}

// Notify makes the reporter compare the state with the report. It does not block.
func (r *Reporter) Notify() { r.changed.Notify() }

// Reread makes the reporter read the report on the hub again. It does not block. A session calls it
// when it lists the hub anew: the hub may have been restored from a backup, with a former report.
func (r *Reporter) Reread() {
	r.reread.Store(true)
	r.Notify()
}

// Run reports until ctx ends.
func (r *Reporter) Run(ctx context.Context) {
	for r.await(ctx) {
		for wait := settle; wait > 0; wait = r.step(ctx) {
			if !retry.Sleep(ctx, r.config.Clock, wait) {
				return
			}
		}
	}
}

// await waits for a notification. It returns false when ctx ended.
func (r *Reporter) await(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-r.changed:
		return true
	}
}

// step writes the status if it differs. It returns the time until the next step, zero if the
// next one is due when the state changes.
func (r *Reporter) step(ctx context.Context) time.Duration {
	// The status includes every change that was notified so far.
	r.changed.Clear()
	err := r.report(ctx)
	if err == nil {
		r.failures = 0
		return 0
	}
	absent := apierrors.IsNotFound(err) || apierrors.IsForbidden(err)
	if logger := klog.FromContext(ctx); ctx.Err() == nil && r.failures == 0 {
		if absent {
			logger.Info("Cannot report in ConfigMapMirror, retrying", "reason", err.Error())
		} else {
			logger.Error(err, "Failed to report in ConfigMapMirror, retrying")
		}
	}
	r.failures++
	r.known = false
	if absent {
		return retry.Delay(r.failures, retryBase, absentMax)
	}
	return retry.Delay(r.failures, retryBase, retryMax)
}

func (r *Reporter) report(ctx context.Context) error {
	if !r.config.Ready() {
		return nil
	}
	if r.reread.Swap(false) {
		r.known = false
	}
	if !r.known {
		if err := r.get(ctx); err != nil {
			return err
		}
	}
	wanted := r.config.Status(r.last, r.config.Clock.Now())
	// A status of a moment at which the mirror was stopped tells nothing: the uninstall removes
	// the copies.
	if !r.config.Ready() || r.present != nil && plan.SameStatus(*r.present, wanted) {
		return nil
	}
	if err := r.apply(ctx, wanted); err != nil {
		return err
	}
	r.present, r.last = &wanted, wanted.ConfigMaps
	klog.FromContext(ctx).V(2).Info("Reported in ConfigMapMirror", "total", wanted.Total, "synced", wanted.Synced)
	return nil
}

// get reads the report on the hub.
func (r *Reporter) get(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	mirror, err := r.config.Client.Get(ctx, manifests.AddonName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read ConfigMapMirror %s/%s: %w", r.config.Cluster, manifests.AddonName, err)
	}
	r.present, r.known = mirror.Status, true
	if r.last == nil && r.present != nil {
		r.last = r.present.ConfigMaps
	}
	return nil
}

// apply writes the status.
func (r *Reporter) apply(ctx context.Context, status v1alpha1.ConfigMapMirrorStatus) error {
	body, err := json.Marshal(v1alpha1.ConfigMapMirror{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ConfigMapMirror"},
		ObjectMeta: metav1.ObjectMeta{Namespace: r.config.Cluster, Name: manifests.AddonName},
		Status:     &status,
	})
	if err != nil {
		return fmt.Errorf("encode ConfigMapMirror %s/%s: %w", r.config.Cluster, manifests.AddonName, err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	force := true
	_, err = r.config.Client.Patch(ctx, manifests.AddonName, types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: manifests.AgentName, Force: &force}, "status")
	if err != nil {
		return fmt.Errorf("apply status of ConfigMapMirror %s/%s: %w", r.config.Cluster, manifests.AddonName, err)
	}
	return nil
}
