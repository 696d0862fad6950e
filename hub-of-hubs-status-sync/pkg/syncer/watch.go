package syncer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/program"
	"open-cluster-management.io/helloworld-addon/internal/retry"
)

// syncPoll is how often a new watch is checked for whether it has synced.
const syncPoll = 20 * time.Millisecond

// watch returns true when all objects of the kind are known, and false if ctx ended before. It waits for a kind that the
// global hub does not serve or allow yet.
func (k *kindSyncer) watch(ctx context.Context) bool {
	return program.UntilWatched(ctx, k.clock, func(ctx context.Context) error { return k.register(ctx, k.entry.Object, k.objects) },
		func(err error, obstacle program.Obstacle) { logObstacle(ctx, k.entry.Object, err, obstacle) })
}

// watchOwners returns true when all owners are known, or when the global hub forbids to watch them: then the syncer takes
// an owner's namespace and name from its row, as the original hub-of-hubs-status-sync does, until the watch is allowed. It
// returns false if ctx ended before. The attempts to watch are one of the workers, which ends with ctx.
func (k *kindSyncer) watchOwners(ctx context.Context, workers *sync.WaitGroup) bool {
	if k.entry.Owner.Empty() {
		return true
	}
	decided, forbidden := make(chan struct{}), false
	decide := sync.OnceFunc(func() { close(decided) })
	workers.Go(func() {
		if program.UntilWatched(ctx, k.clock, func(ctx context.Context) error { return k.register(ctx, k.entry.Owner, k.owners) },
			func(err error, obstacle program.Obstacle) {
				if obstacle == program.Forbidden {
					klog.FromContext(ctx).Info("Watching the owners is forbidden, taking their names from the database",
						"gvk", k.entry.Owner.String(), "missingRule", program.MissingRule(err, "list", "watch"))
					forbidden = true
					decide()
					return
				}
				logObstacle(ctx, k.entry.Owner, err, obstacle)
			}) {
			if forbidden {
				klog.FromContext(ctx).Info("Watching the owners", "gvk", k.entry.Owner.String())
			}
			decide()
		}
	})
	select {
	case <-decided:
		return true
	case <-ctx.Done():
		return false
	}
}

// logObstacle logs why a kind is not watched.
func logObstacle(ctx context.Context, gvk schema.GroupVersionKind, err error, obstacle program.Obstacle) {
	logger := klog.FromContext(ctx).WithValues("gvk", gvk.String())
	switch obstacle {
	case program.Unserved:
		logger.Info("The global hub does not serve the kind, waiting for it")
	case program.Forbidden:
		logger.Error(err, "Watch is forbidden, retrying", "missingRule", program.MissingRule(err, "get", "list", "watch"))
	default:
		logger.Error(err, "Watch failed, retrying")
	}
}

// register adds the objects of a kind to an index, and returns nil when they are complete.
func (k *kindSyncer) register(ctx context.Context, gvk schema.GroupVersionKind, objects *objects) error {
	if err := k.mayList(ctx, gvk); err != nil {
		return err
	}
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(gvk)
	informer, err := k.caches.GetInformer(ctx, metadata)
	if err != nil {
		return fmt.Errorf("watch %s: %w", gvk.Kind, err)
	}
	registration, err := informer.AddEventHandler(objects.handler())
	if err != nil {
		return fmt.Errorf("watch %s: %w", gvk.Kind, err)
	}
	for !registration.HasSynced() {
		if !retry.Sleep(ctx, k.clock, syncPoll) {
			return errors.Join(ctx.Err(), informer.RemoveEventHandler(registration))
		}
	}
	objects.complete.Store(true)
	return nil
}

// mayList returns an error if the kind cannot be listed. The informer would retry without an error that the caller sees.
func (k *kindSyncer) mayList(ctx context.Context, gvk schema.GroupVersionKind) error {
	namespaces := k.namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range namespaces {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		limited, cancel := context.WithTimeout(ctx, requestTimeout)
		err := k.live.List(limited, list, client.InNamespace(namespace), client.Limit(1))
		cancel()
		if err != nil {
			return fmt.Errorf("list %s: %w", gvk.Kind, err)
		}
	}
	return nil
}
