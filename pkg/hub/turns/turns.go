// Package turns keeps the controllers of this process from conflicts with each other.
//
// Several controllers write the status of one ManagedClusterAddOn: three of
// addon-framework's and package rollout's. Each computes its patch from the informer's
// cache, with the resourceVersion that it found there. So a controller that reconciles
// before the cache has another one's write gets a conflict and has to do all of it again,
// after a back-off.
//
// With Turns one controller at a time reconciles a cluster, and only when the cache has
// what the former ones wrote. It does not prevent conflicts with other programs, for
// example OCM's add-on manager, but no controller retries with the version that was
// refused.
package turns

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonclient "open-cluster-management.io/api/client/addon/clientset/versioned"
	addonclientv1beta1 "open-cluster-management.io/api/client/addon/clientset/versioned/typed/addon/v1beta1"
	addonlisters "open-cluster-management.io/api/client/addon/listers/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

const (
	// Retry is when to try again after a turn that was refused. It is a safeguard: the
	// event that brings the cache up to date queues the add-on.
	Retry = 10 * time.Second

	// trust is how long a write counts: to refuse a turn, and as proof that the add-on
	// exists. It bounds the harm where versions go back, for example when the hub is
	// restored from a backup.
	trust = 30 * time.Second

	// shards is the number of locks. Two clusters with the same one only wait for each
	// other.
	shards = 256
)

// Turns orders the reconciles of the clusters' ManagedClusterAddOns.
type Turns struct {
	cached addonlisters.ManagedClusterAddOnLister
	clock  clock.PassiveClock
	locks  [shards]sync.Mutex

	mu sync.Mutex
	// last is each cluster's last write, which the cache may not have yet.
	last map[string]write
	// batches are the clusters' batches that have begun.
	batches map[string]*Batch
}

// write is a write of a ManagedClusterAddOn.
type write struct {
	at time.Time
	// version is the resourceVersion that it made. If refused, it is the one that it was
	// made for, and the hub has a later one.
	version string
	refused bool
	// uid is the add-on's, or empty if the write was refused or the add-on is being
	// deleted.
	uid types.UID
}

// New returns Turns for the add-ons in the cache.
func New(cached addonlisters.ManagedClusterAddOnLister, now clock.PassiveClock) *Turns {
	return &Turns{cached: cached, clock: now, last: map[string]write{}, batches: map[string]*Batch{}}
}

// Take waits for the cluster's turn. It reports whether the cache has what was written in
// former turns; if not, the caller reconciles nothing, and tries again at the next event
// of the add-on, and after Retry. The caller calls done in both cases.
func (t *Turns) Take(cluster string) (done func(), ok bool) {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(cluster))
	lock := &t.locks[hash.Sum32()%shards]
	lock.Lock()
	return lock.Unlock, t.caughtUp(cluster)
}

func (t *Turns) caughtUp(cluster string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, ok := t.last[cluster]
	if !ok {
		return true
	}
	addOn, err := t.cached.ManagedClusterAddOns(cluster).Get(manifests.AddonName)
	if apierrors.IsNotFound(err) {
		delete(t.last, cluster)
	}
	return err != nil || t.clock.Since(last.at) >= trust || last.isIn(addOn.ResourceVersion)
}

// Confirmed reports whether the hub has just written the cluster's add-on with this UID,
// and it was not being deleted.
func (t *Turns) Confirmed(cluster string, uid types.UID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, ok := t.last[cluster]
	return ok && uid != "" && last.uid == uid && t.clock.Since(last.at) < trust
}

// isIn reports whether an object of this version has the write. An unreadable version
// cannot be waited for.
func (w write) isIn(version string) bool {
	order, err := resourceversion.CompareResourceVersion(version, w.version)
	return err != nil || order > 0 || order == 0 && !w.refused
}

func (t *Turns) record(cluster string, w write) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w.at = t.clock.Now()
	t.last[cluster] = w
}

// forget drops the cluster's last write: the hub has no such add-on.
func (t *Turns) forget(cluster string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.last, cluster)
}

// Client returns a client that records the writes of the add-on's
// ManagedClusterAddOns.
func (t *Turns) Client(client addonclient.Interface) addonclient.Interface {
	return recording{client, t}
}

type recording struct {
	addonclient.Interface
	turns *Turns
}

// AddonV1beta1 returns the client of the API's version v1beta1.
func (r recording) AddonV1beta1() addonclientv1beta1.AddonV1beta1Interface {
	return recordingV1beta1{r.Interface.AddonV1beta1(), r.turns}
}

type recordingV1beta1 struct {
	addonclientv1beta1.AddonV1beta1Interface
	turns *Turns
}

// ManagedClusterAddOns returns the client of a cluster's add-ons.
func (r recordingV1beta1) ManagedClusterAddOns(cluster string) addonclientv1beta1.ManagedClusterAddOnInterface {
	return recordingIn{r.AddonV1beta1Interface.ManagedClusterAddOns(cluster), r.turns, cluster}
}

type recordingIn struct {
	addonclientv1beta1.ManagedClusterAddOnInterface
	turns   *Turns
	cluster string
}

// Update updates the add-on and records it. Where it can, it patches the finalizers
// alone.
func (r recordingIn) Update(ctx context.Context, addOn *addonv1beta1.ManagedClusterAddOn, options metav1.UpdateOptions,
) (*addonv1beta1.ManagedClusterAddOn, error) {
	if patch, ok := r.turns.addFinalizers(r.cluster, addOn); ok {
		patched, err := r.ManagedClusterAddOnInterface.Patch(ctx, addOn.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
		// Another writer has changed the finalizers, or the RBAC is of a former version.
		if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
			r.note(patched, addOn.ResourceVersion, err)
			return patched, err
		}
	}
	updated, err := r.ManagedClusterAddOnInterface.Update(ctx, addOn, options)
	r.note(updated, addOn.ResourceVersion, err)
	return updated, err
}

// Patch patches the add-on and records it. The cluster's batch holds back a patch of the
// status. Where it can, Patch patches single conditions.
func (r recordingIn) Patch(ctx context.Context, name string, kind types.PatchType, patch []byte, options metav1.PatchOptions,
	subresources ...string) (*addonv1beta1.ManagedClusterAddOn, error) {
	if held, ok := r.turns.hold(r.cluster, kind, patch, subresources); ok {
		return held, nil
	}
	if conditions, ok := r.turns.onlyConditions(r.cluster, kind, patch, subresources); ok {
		patched, err := r.ManagedClusterAddOnInterface.Patch(ctx, name, types.JSONPatchType, conditions, options, subresources...)
		// Another writer has changed one of these conditions, or their order.
		if !apierrors.IsInvalid(err) {
			r.note(patched, "", err)
			return patched, err
		}
	}
	patched, err := r.ManagedClusterAddOnInterface.Patch(ctx, name, kind, patch, options, subresources...)
	var of metav1.PartialObjectMetadata
	if apierrors.IsConflict(err) && json.Unmarshal(patch, &of) != nil {
		return patched, err
	}
	r.note(patched, of.ResourceVersion, err)
	return patched, err
}

// note records a write of an object of version before.
func (r recordingIn) note(written *addonv1beta1.ManagedClusterAddOn, before string, err error) {
	switch {
	case err == nil && written != nil:
		w := write{version: written.ResourceVersion}
		if written.DeletionTimestamp == nil {
			w.uid = written.UID
		}
		r.turns.record(r.cluster, w)
	case apierrors.IsConflict(err):
		r.turns.record(r.cluster, write{version: before, refused: true})
	case apierrors.IsNotFound(err):
		r.turns.forget(r.cluster)
	}
}
