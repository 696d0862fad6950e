package syncer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/program"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/internal/retry"
)

const (
	// A key that cannot be written is tried again after the first, then after
	// twice that, up to the last.
	firstRetry, lastRetry = 100 * time.Millisecond, 30 * time.Second
	// syncPoll is how often to look whether all objects of a kind are known.
	syncPoll = 20 * time.Millisecond
	// requestTimeout bounds one read or write.
	requestTimeout = 30 * time.Second
)

// kindSyncer writes the objects of one kind of status. It is a Runnable.
type kindSyncer struct {
	entry    status.Entry
	store    status.Reader
	live     client.Reader
	writer   client.Client
	caches   cache.Cache
	feed     *feed
	recorder events.EventRecorder
	clock    clock.WithTicker
	workers  int

	objects, owners *objects
	queue           workqueue.TypedRateLimitingInterface[status.Key]
	turns           *turns
}

// newKindSyncer makes what one entry needs; the shared parts are the caller's.
func newKindSyncer(entry status.Entry, shared kindSyncer) *kindSyncer {
	k := shared
	k.entry = entry
	k.queue = workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[status.Key](firstRetry, lastRetry),
		workqueue.TypedRateLimitingQueueConfig[status.Key]{Name: string(entry.Kind), Clock: k.clock})
	k.turns = newTurns()
	k.objects = newObjects(func(o object, cameOrWent bool) {
		for _, key := range k.keysOf(o) {
			k.touched(key, cameOrWent && entry.Creates)
		}
	})
	k.owners = newObjects(func(o object, cameOrWent bool) {
		// What else changes of an owner is no matter of its status.
		if cameOrWent {
			k.touched(status.Key{Kind: entry.Kind, ID: string(o.UID)}, true)
		}
	})
	return &k
}

// keysOf are the keys that an object belongs to.
func (k *kindSyncer) keysOf(o object) []status.Key {
	var keys []status.Key
	switch {
	case !k.entry.Creates:
		keys = append(keys, status.Key{Kind: k.entry.Kind, ID: string(o.UID)})
	case k.entry.Owner.Empty():
		keys = append(keys, status.Key{Kind: k.entry.Kind, ID: o.Name})
	case o.Owner != "":
		keys = append(keys, status.Key{Kind: k.entry.Kind, ID: string(o.Owner)})
	}
	return keys
}

// touched says that an object of a key is not as it was known, and whether the
// rows have to be read for it in any case.
func (k *kindSyncer) touched(key status.Key, due bool) {
	k.queue.AddAfter(key, k.turns.touched(key, due, k.clock.Now()))
}

// add says that the rows of a key have to be read, and since when they have
// changed; zero: nobody knows that they have.
func (k *kindSyncer) add(key status.Key, at time.Time) {
	k.queue.AddAfter(key, k.turns.changed(key, at, k.clock.Now()))
}

// round is called when everything that the database has was looked at once. What
// the database no longer knows of is looked at now: an object without an owner, of
// which nothing is left but the object.
func (k *kindSyncer) round() {
	k.turns.newRound()
	if !k.entry.Creates || !k.entry.Owner.Empty() {
		return
	}
	for _, o := range k.objects.all() {
		for _, key := range k.keysOf(o) {
			k.add(key, time.Time{})
		}
	}
}

// Start writes until ctx ends.
func (k *kindSyncer) Start(ctx context.Context) error {
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("kind", k.entry.Kind))
	kinds := []watched{{k.entry.Object, k.objects}}
	if !k.entry.Owner.Empty() {
		kinds = append(kinds, watched{k.entry.Owner, k.owners})
	}
	defer k.queue.ShutDown()
	for _, kind := range kinds {
		if !k.watch(ctx, kind) {
			return nil
		}
	}
	select {
	case <-k.feed.ready:
	case <-ctx.Done():
		return nil
	}
	available.WithLabelValues(string(k.entry.Kind)).Set(1)
	klog.FromContext(ctx).Info("The status is kept true")
	var group sync.WaitGroup
	for range k.workers {
		group.Go(func() { k.work(ctx) })
	}
	<-ctx.Done()
	k.queue.ShutDown()
	group.Wait()
	return nil
}

type watched struct {
	gvk     schema.GroupVersionKind
	objects *objects
}

// watch returns when all objects of a kind are known, and false when ctx ended
// before. A global hub that does not serve the kind yet may do so later.
func (k *kindSyncer) watch(ctx context.Context, kind watched) bool {
	return program.UntilWatched(ctx, k.clock, func(ctx context.Context) error { return k.register(ctx, kind) }, func(err error, served bool) {
		available.WithLabelValues(string(k.entry.Kind)).Set(0)
		logger := klog.FromContext(ctx).WithValues("gvk", kind.gvk.String())
		if served {
			logger.Error(err, "Watch failed; it is tried again")
		} else {
			logger.Info("The global hub does not serve the kind; its status is written once it does")
		}
	})
}

func (k *kindSyncer) register(ctx context.Context, kind watched) error {
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(kind.gvk)
	informer, err := k.caches.GetInformer(ctx, metadata)
	if err != nil {
		return fmt.Errorf("watch %s: %w", kind.gvk.Kind, err)
	}
	registration, err := informer.AddEventHandler(kind.objects.handler())
	if err != nil {
		return fmt.Errorf("watch %s: %w", kind.gvk.Kind, err)
	}
	for !registration.HasSynced() {
		if !retry.Sleep(ctx, k.clock, syncPoll) {
			return errors.Join(ctx.Err(), informer.RemoveEventHandler(registration))
		}
	}
	return nil
}

func (k *kindSyncer) work(ctx context.Context) {
	for {
		key, shutdown := k.queue.Get()
		if shutdown {
			return
		}
		k.attend(ctx, key)
		k.queue.Done(key)
	}
}

// attend syncs a key and says when it is its turn again.
func (k *kindSyncer) attend(ctx context.Context, key status.Key) {
	kind := string(k.entry.Kind)
	changed, due := k.turns.begin(key)
	start := k.clock.Now()
	err := k.sync(ctx, key, due)
	now := k.clock.Now()
	k.turns.end(key, now, now.Sub(start), changed, err)
	shortened.WithLabelValues(kind).Set(float64(k.turns.short()))
	if err == nil {
		k.queue.Forget(key)
		if !changed.IsZero() {
			lag.WithLabelValues(kind).Observe(max(0, now.Sub(changed).Seconds()))
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
		logger.Error(err, "Sync failed; it is tried again")
	} else {
		logger.V(2).Info("Sync failed; it is tried again", "err", err)
	}
	k.queue.AddRateLimited(key)
}

// present returns the objects that a key has now, with the owner, before any row
// is read. Found is false when the key has nothing on this hub to be written to.
func (k *kindSyncer) present(key status.Key) (owner object, all []object, found bool) {
	switch {
	case !k.entry.Creates:
		one, found := k.objects.get(types.UID(key.ID))
		return one, []object{one}, found && !one.Deleting
	case k.entry.Owner.Empty():
		if one, found := k.objects.named("", key.ID); found {
			all = append(all, one)
		}
		return object{Name: key.ID}, all, true
	default:
		owner, found = k.owners.get(types.UID(key.ID))
		return owner, k.objects.owned(owner.UID), found && !owner.Deleting
	}
}
