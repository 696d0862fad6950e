package syncer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer/plan"
)

// requestTimeout limits one read or write.
const requestTimeout = 30 * time.Second

// kindSyncer syncs the objects of one kind. It is a Runnable.
type kindSyncer struct {
	entry    status.Entry
	keys     *keys
	queue    *queue
	store    status.Reader
	live     client.Reader
	writer   client.Client
	caches   cache.Cache
	recorder events.EventRecorder
	clock    clock.WithTicker
	workers  int
	// namespaces are the watched ones; none means all.
	namespaces []string

	objects, owners *objects
}

// newKindSyncer returns the syncer of an entry, with the fields of shared that all
// kinds have in common.
func newKindSyncer(entry status.Entry, keys *keys, shared kindSyncer) *kindSyncer {
	k := shared
	k.entry, k.keys, k.queue = entry, keys, keys.queues[entry.Kind]
	k.objects = newObjects(func(o plan.Object, cameOrWent bool) {
		cause := plan.ObjectChanged
		if cameOrWent && entry.Creates {
			cause = plan.ReadRows
		}
		if key, found := k.keyOf(o); found {
			k.queue.touch(key, cause)
		}
	})
	k.owners = newObjects(func(o plan.Object, cameOrWent bool) {
		// Other changes of an owner do not affect the status.
		if cameOrWent {
			k.queue.touch(status.Key{Kind: entry.Kind, ID: string(o.UID)}, plan.ReadRows)
		}
	})
	return &k
}

// keyOf returns the key that an object belongs to, if there is one.
func (k *kindSyncer) keyOf(o plan.Object) (key status.Key, found bool) {
	key.Kind = k.entry.Kind
	switch {
	case !k.entry.Creates:
		key.ID = string(o.UID)
	case k.entry.Owner.Empty():
		key.ID = o.Name
	default:
		key.ID = string(o.Owner)
	}
	return key, key.ID != ""
}

// present returns the objects of a key and their owner, as the watch has them. For
// a kind whose objects the syncer does not create, the object is its own owner.
// While the owners may not be watched, the owner has only its uid. Found is false
// if this hub has no object to write and no owner to create one for.
func (k *kindSyncer) present(key status.Key) (owner plan.Object, all []plan.Object, found bool) {
	switch {
	case !k.entry.Creates:
		one, found := k.objects.get(types.UID(key.ID))
		return one, []plan.Object{one}, found && !one.Deleting
	case k.entry.Owner.Empty():
		if one, found := k.objects.named("", key.ID); found {
			all = append(all, one)
		}
		return plan.Object{Name: key.ID}, all, true
	case !k.owners.complete.Load():
		return plan.Object{UID: types.UID(key.ID)}, k.objects.owned(types.UID(key.ID)), true
	default:
		owner, found = k.owners.get(types.UID(key.ID))
		return owner, k.objects.owned(owner.UID), found && !owner.Deleting
	}
}

// Start syncs until ctx ends.
func (k *kindSyncer) Start(ctx context.Context) error {
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("kind", k.entry.Kind))
	defer k.queue.ShutDown()
	available.WithLabelValues(string(k.entry.Kind)).Set(0)
	var workers sync.WaitGroup
	defer workers.Wait()
	if !k.watch(ctx) || !k.watchOwners(ctx, &workers) {
		return nil
	}
	select {
	case <-k.keys.ready:
	case <-ctx.Done():
		return nil
	}
	available.WithLabelValues(string(k.entry.Kind)).Set(1)
	klog.FromContext(ctx).Info("Syncing status")
	for range k.workers {
		workers.Go(func() { k.work(ctx) })
	}
	for ctx.Err() == nil {
		select {
		case <-k.queue.rounds:
			k.requestOrphans()
		case <-ctx.Done():
		}
	}
	k.queue.ShutDown()
	return nil
}

// requestOrphans requests the keys of objects without an owner: if their rows are
// gone, for example after a TRUNCATE, nothing in the database leads to them. It is
// called at the end of each round of the feed.
func (k *kindSyncer) requestOrphans() {
	if !k.entry.Creates || !k.entry.Owner.Empty() {
		return
	}
	for _, o := range k.objects.all() {
		if key, found := k.keyOf(o); found {
			k.queue.request(key, time.Time{})
		}
	}
}

func (k *kindSyncer) work(ctx context.Context) {
	for {
		key, shutdown := k.queue.Get()
		if shutdown {
			return
		}
		k.take(ctx, key)
		k.queue.Done(key)
	}
}

// take processes a key, or queues it again if its sync has to wait: the queue hands
// out a key that was queued during a sync as soon as that sync ends.
func (k *kindSyncer) take(ctx context.Context, key status.Key) {
	if wait := k.queue.wait(key); wait > 0 {
		k.queue.AddAfter(key, wait)
		return
	}
	k.process(ctx, key)
}

// process syncs a key, records the result, and requeues the key after an error.
func (k *kindSyncer) process(ctx context.Context, key status.Key) {
	kind := string(k.entry.Kind)
	work := k.queue.begin(key)
	start := k.clock.Now()
	err := k.sync(ctx, key, work.Cause)
	now := k.clock.Now()
	k.queue.end(key, now.Sub(start), err)
	shortened.WithLabelValues(kind).Set(float64(k.queue.countShortened()))
	if err == nil {
		k.queue.Forget(key)
		if !work.ChangedAt.IsZero() {
			lag.WithLabelValues(kind).Observe(max(0, now.Sub(work.ChangedAt).Seconds()))
		}
		return
	}
	if ctx.Err() != nil {
		return
	}
	reason := reasonOf(err)
	failures.WithLabelValues(kind, reason).Inc()
	logger := klog.FromContext(ctx).WithValues("id", key.ID, "reason", reason)
	if first := k.queue.NumRequeues(key) == 0; first && reason != reasonConflict {
		logger.Error(err, "Sync failed, retrying")
	} else {
		logger.V(2).Info("Sync failed, retrying", "err", err)
	}
	k.queue.AddRateLimited(key)
}

// sync looks at a key's objects, reads its rows, plans and carries out the writes,
// and records them, in this order: the objects are looked at before the rows are
// read, so that the API server rejects a write whose object changed since. The
// heartbeats are part of the rows' snapshot.
func (k *kindSyncer) sync(ctx context.Context, key status.Key, cause plan.Cause) error {
	owner, all, found := k.present(key)
	if !found {
		k.queue.forget(key)
		return nil
	}
	if cause < plan.ReadRows && k.allKnown(all) {
		return nil
	}
	present, err := k.observe(ctx, all)
	if err != nil {
		return err
	}
	desired, found, err := k.aggregate(ctx, key, &owner)
	if err != nil || !found {
		return err
	}
	actions := plan.Plan(k.entry, present, desired)
	k.learn(present, desired)
	if err := k.execute(ctx, owner, actions); err != nil {
		if plan.TooLarge(err) {
			k.queue.shrink(key)
			return &failure{reasonTooLarge, err}
		}
		return err
	}
	if len(actions) > 0 {
		k.recordWrite(ctx, key, owner, actions)
	}
	k.recordEvents(present, desired)
	k.queue.setShortened(key, slices.ContainsFunc(desired, func(d status.Desired) bool { return d.Summarised != "" }))
	return nil
}

// allKnown reports whether the fields of all objects are known at their present
// resourceVersion: then the watch only returned a write of this syncer.
func (k *kindSyncer) allKnown(all []plan.Object) bool {
	for _, o := range all {
		if k.objects.digest(o) == "" {
			return false
		}
	}
	return len(all) > 0
}

// observe reads the content of the objects whose fields are not known.
func (k *kindSyncer) observe(ctx context.Context, all []plan.Object) ([]plan.Present, error) {
	result := make([]plan.Present, 0, len(all))
	for _, o := range all {
		if digest := k.objects.digest(o); digest != "" {
			result = append(result, plan.Present{Object: o, Digest: digest})
			continue
		}
		content := &unstructured.Unstructured{}
		content.SetGroupVersionKind(k.entry.Object)
		get, cancel := context.WithTimeout(ctx, requestTimeout)
		err := k.live.Get(get, client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, content)
		cancel()
		if apierrors.IsNotFound(err) || (err == nil && content.GetUID() != o.UID) {
			// The object was deleted, and another one may have its name. The watch will
			// report both.
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("get %s %s/%s: %w", k.entry.Kind, o.Namespace, o.Name, err)
		}
		result = append(result, plan.Present{Object: objectOf(content), Content: content.Object})
	}
	return result, nil
}

// aggregate reads the rows of a key, and returns the objects that they result in.
// It completes an owner that has only its uid by the owner's row. Found is false if
// the database does not have the key's object, or this syncer does not write it.
func (k *kindSyncer) aggregate(ctx context.Context, key status.Key, owner *plan.Object) (desired []status.Desired, found bool, err error) {
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	snapshot, err := k.store.Read(limited, []status.Key{key})
	cancel()
	if err != nil {
		return nil, false, &failure{reasonDatabase, fmt.Errorf("read the rows of %s %s: %w", key.Kind, key.ID, err)}
	}
	rowsRead.WithLabelValues(string(key.Kind)).Add(float64(snapshot.Rows))
	if len(snapshot.Objects) != 1 || !snapshot.Objects[0].Found {
		return nil, false, nil
	}
	rows := snapshot.Objects[0]
	if owner.Name == "" {
		owner.Namespace, owner.Name = rows.Namespace, rows.Name
		if len(k.namespaces) > 0 && !slices.Contains(k.namespaces, owner.Namespace) {
			return nil, false, nil
		}
	}
	desired, err = k.entry.Aggregate(status.Rows{
		Namespace: owner.Namespace, Name: owner.Name, UID: key.ID,
		Compliance: rows.Compliance, Payloads: rows.Payloads, Stale: k.keys.staleBy(rows, snapshot.Heartbeats),
	}, k.queue.budget(key))
	if err != nil {
		return nil, false, &failure{reasonRow, fmt.Errorf("aggregate %s %s/%s, which is left unchanged: %w", key.Kind, owner.Namespace, owner.Name, err)}
	}
	return desired, true, nil
}

// learn records the digests of the objects whose content was read.
func (k *kindSyncer) learn(present []plan.Present, desired []status.Desired) {
	byName := indexByName(desired)
	for _, p := range present {
		if d, found := byName[p.Name]; found && p.Digest == "" {
			k.objects.learn(p.UID, p.ResourceVersion, p.DigestOf(d.Fields))
		}
	}
}

// indexByName indexes the desired objects: a placement may have thousands.
func indexByName(desired []status.Desired) map[string]status.Desired {
	byName := make(map[string]status.Desired, len(desired))
	for _, d := range desired {
		byName[d.Name] = d
	}
	return byName
}

// recordEvents records the desired notes as events on the objects.
func (k *kindSyncer) recordEvents(present []plan.Present, desired []status.Desired) {
	byName := indexByName(desired)
	for _, p := range present {
		if d, found := byName[p.Name]; found && k.objects.setNote(p.UID, d.Note) && d.Note != "" {
			k.event(p, "StatusIncomplete", d.Note)
		}
	}
}

// The reasons of failures, values of the label reason.
const (
	reasonDatabase = "database"
	reasonRow      = "row"
	reasonConflict = "conflict"
	reasonForeign  = "foreign"
	reasonTooLarge = "tooLarge"
	// reasonContested counts successful writes that another writer will undo again.
	reasonContested = "contested"
	reasonAPI       = "api"
)

// failure is an error with its reason.
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
