package syncer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// Reasons by which failures are counted.
const (
	reasonDatabase = "database"
	reasonRow      = "row"
	reasonConflict = "conflict"
	reasonForeign  = "foreign"
	reasonTooLarge = "tooLarge"
	// reasonContested is of what was written well, and will not stay.
	reasonContested = "contested"
	reasonAPI       = "api"
)

// failure is an error with the reason by which it is counted.
type failure struct {
	reason string
	err    error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func reasonOf(err error) string {
	var f *failure
	switch {
	case errors.As(err, &f):
		return f.reason
	case apierrors.IsConflict(err), apierrors.IsNotFound(err), apierrors.IsAlreadyExists(err):
		return reasonConflict
	default:
		return reasonAPI
	}
}

// sync makes a key's objects what its rows say. The order is what keeps a newer
// truth from being replaced by an older one: first the objects as they are, then
// the rows, then the write, which the API server refuses if an object is no
// longer as it was. The heartbeats are of the rows' snapshot, so that they are
// part of that truth.
func (k *kindSyncer) sync(ctx context.Context, key status.Key, due bool) error {
	owner, all, found := k.present(key)
	if !found {
		k.turns.forget(key)
		return nil
	}
	if !due && k.allKnown(all) {
		return nil
	}
	present, err := k.observe(ctx, all)
	if err != nil {
		return err
	}
	read, cancel := context.WithTimeout(ctx, requestTimeout)
	snapshot, err := k.store.Read(read, []status.Key{key})
	cancel()
	if err != nil {
		return &failure{reasonDatabase, fmt.Errorf("read the rows of %s %s: %w", key.Kind, key.ID, err)}
	}
	rowsRead.WithLabelValues(string(key.Kind)).Add(float64(snapshot.Rows))
	if len(snapshot.Objects) != 1 || !snapshot.Objects[0].Found {
		return nil
	}
	rows := snapshot.Objects[0]
	desired, err := k.entry.Aggregate(status.Rows{
		Namespace: owner.Namespace, Name: owner.Name, UID: key.ID,
		Compliance: rows.Compliance, Payloads: rows.Payloads, Stale: k.feed.staleBy(rows, snapshot.Heartbeats),
	}, k.turns.budgetOf(key))
	if err != nil {
		return &failure{reasonRow, fmt.Errorf("aggregate %s %s/%s, which stays as it is: %w", key.Kind, owner.Namespace, owner.Name, err)}
	}
	wanted := byName(desired)
	k.compared(present, wanted)
	actions := plan(k.entry, present, desired)
	err = k.execute(ctx, owner, actions)
	if err != nil && tooLarge(err) {
		k.turns.shrink(key)
		return &failure{reasonTooLarge, err}
	}
	if err != nil {
		return err
	}
	if len(actions) > 0 {
		k.wrote(ctx, key, owner)
	}
	k.note(present, wanted)
	k.turns.listed(key, !slices.ContainsFunc(desired, func(d status.Desired) bool { return d.Summarised != "" }))
	return nil
}

// wrote looks whether somebody else changes the objects of a key again and again:
// then that waits longer and longer until it is put right, and is said once.
func (k *kindSyncer) wrote(ctx context.Context, key status.Key, owner object) {
	others, begins := k.turns.wrote(key, k.clock.Now())
	if others {
		failures.WithLabelValues(string(key.Kind), reasonContested).Inc()
	}
	if begins {
		klog.FromContext(ctx).Info("Somebody else changes what is written again and again; it is put right less and less often, and at once when the rows change",
			"id", key.ID, "namespace", owner.Namespace, "name", owner.Name)
	}
}

// observe reads the content of the objects whose fields are not known.
func (k *kindSyncer) observe(ctx context.Context, all []object) ([]present, error) {
	result := make([]present, 0, len(all))
	for _, o := range all {
		if digest := k.objects.digest(o); digest != "" {
			result = append(result, present{object: o, Digest: digest})
			continue
		}
		content := &unstructured.Unstructured{}
		content.SetGroupVersionKind(k.entry.Object)
		get, cancel := context.WithTimeout(ctx, requestTimeout)
		err := k.live.Get(get, client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, content)
		cancel()
		if apierrors.IsNotFound(err) || (err == nil && content.GetUID() != o.UID) {
			// It is gone, and perhaps another one is there; the watch will say so.
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("get %s %s/%s: %w", k.entry.Kind, o.Namespace, o.Name, err)
		}
		result = append(result, present{object: objectOf(content), Content: content.Object})
	}
	return result, nil
}

// allKnown reports whether all objects are as they were last compared: then what
// had the key looked at was a write of our own.
func (k *kindSyncer) allKnown(all []object) bool {
	for _, o := range all {
		if k.objects.digest(o) == "" {
			return false
		}
	}
	return len(all) > 0
}

// byName finds what an object has to say among the thousands that a placement may
// have.
func byName(desired []status.Desired) map[string]status.Desired {
	wanted := make(map[string]status.Desired, len(desired))
	for _, d := range desired {
		wanted[d.Name] = d
	}
	return wanted
}

// compared remembers what the objects' fields are.
func (k *kindSyncer) compared(all []present, wanted map[string]status.Desired) {
	for _, p := range all {
		if d, found := wanted[p.Name]; found && p.Digest == "" {
			k.objects.learn(p.UID, p.ResourceVersion, p.digest(d.Fields))
		}
	}
}

// note makes an event of what the objects have no field to say, once they say the
// rest.
func (k *kindSyncer) note(all []present, wanted map[string]status.Desired) {
	for _, p := range all {
		if d, found := wanted[p.Name]; found && k.objects.noted(p.UID, d.Note) && d.Note != "" {
			k.recorder.Eventf(k.reference(p.object), nil, corev1.EventTypeWarning, "StatusIncomplete", "SyncStatus", "%s", d.Note)
		}
	}
}

// reference is what an event is about.
func (k *kindSyncer) reference(o object) *metav1.PartialObjectMetadata {
	target := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion}}
	target.SetGroupVersionKind(k.entry.Object)
	return target
}
