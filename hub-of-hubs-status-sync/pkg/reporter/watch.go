package reporter

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/program"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/reporter/plan"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/manifests"
)

// watcher watches all kinds, and calls changed for each reported object that
// changed.
type watcher struct {
	caches  *caches
	clock   clock.WithTicker
	changed func(status.ObjectRef)

	mu sync.Mutex
	// hasSynced has an entry for each watched kind: whether its first list is
	// complete.
	hasSynced map[status.Kind]func() bool
	// missing are the kinds that the leaf hub does not serve.
	missing map[status.Kind]bool
	// ids are the ids of all reported objects.
	ids map[status.ObjectRef]string
}

func newWatcher(caches *caches, clock clock.WithTicker, changed func(status.ObjectRef)) *watcher {
	return &watcher{caches: caches, clock: clock, changed: changed,
		hasSynced: map[status.Kind]func() bool{}, missing: map[status.Kind]bool{}, ids: map[status.ObjectRef]string{}}
}

// run watches until ctx ends.
func (w *watcher) run(ctx context.Context) {
	var group sync.WaitGroup
	for kind := range plan.Kinds {
		group.Go(func() { w.watch(ctx, kind) })
	}
	group.Wait()
}

// watch returns when a kind is watched, or when ctx ends.
func (w *watcher) watch(ctx context.Context, kind status.Kind) {
	program.UntilWatched(ctx, w.clock, func(ctx context.Context) error { return w.register(ctx, kind) }, func(err error, obstacle program.Obstacle) {
		logger := klog.FromContext(ctx).WithValues("kind", kind)
		if obstacle == program.Unserved {
			logger.Info("The leaf hub does not serve the kind, waiting for it")
		} else {
			logger.Error(err, "Watch failed, retrying")
		}
	})
}

func (w *watcher) register(ctx context.Context, kind status.Kind) error {
	informer, err := w.caches.informer(ctx, kind)
	if meta.IsNoMatchError(err) {
		w.setSynced(kind, nil)
	}
	if err != nil {
		return fmt.Errorf("watch %s: %w", kind, err)
	}
	observe := func(obj any, present bool) {
		if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
			obj = gone.Obj
		}
		if object, ok := obj.(*unstructured.Unstructured); ok {
			w.observe(kind, object, present)
		}
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { observe(obj, true) },
		UpdateFunc: func(_, obj any) { observe(obj, true) },
		DeleteFunc: func(obj any) { observe(obj, false) },
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", kind, err)
	}
	w.setSynced(kind, registration.HasSynced)
	return nil
}

// setSynced records that a kind is watched, and whether its first list is complete.
// Nil records that the leaf hub does not serve the kind.
func (w *watcher) setSynced(kind status.Kind, hasSynced func() bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.missing[kind] = hasSynced == nil
	if hasSynced != nil {
		w.hasSynced[kind] = hasSynced
	}
}

// observe handles an event of the watch. An object that is not reported is ignored,
// unless it was reported before.
func (w *watcher) observe(kind status.Kind, object *unstructured.Unstructured, present bool) {
	ref := status.ObjectRef{Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName()}
	id, reported := plan.IDOf(kind, object)
	w.mu.Lock()
	_, had := w.ids[ref]
	if present && reported {
		w.ids[ref] = id
	} else {
		delete(w.ids, ref)
	}
	w.mu.Unlock()
	if reported || had {
		w.changed(ref)
	}
}

// present returns the reported objects of some kinds, with their ids.
func (w *watcher) present(which map[status.Kind]bool) map[status.ObjectRef]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := map[status.ObjectRef]string{}
	for ref, id := range w.ids {
		if which[ref.Kind] {
			ids[ref] = id
		}
	}
	return ids
}

// synced returns the kinds whose first list is complete.
func (w *watcher) synced() map[status.Kind]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	synced := map[status.Kind]bool{}
	for kind, hasSynced := range w.hasSynced {
		if hasSynced() {
			synced[kind] = true
		}
	}
	return synced
}

// unserved returns the kinds that the leaf hub does not serve.
func (w *watcher) unserved() map[status.Kind]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.missing)
}

// caches hold the watched objects. A kind of which only some objects are watched has
// a cache of its own. The manager's cache could select them too, but it then needs
// the kind at its start, and would not start on a hub that does not serve it.
type caches struct {
	shared cache.Cache
	own    map[status.Kind]cache.Cache
}

// newCaches returns the caches, and adds them to the manager.
func newCaches(mgr manager.Manager, namespaces []string) (*caches, error) {
	selected, err := selections()
	if err != nil {
		return nil, err
	}
	all := &caches{shared: mgr.GetCache(), own: map[status.Kind]cache.Cache{}}
	for kind, options := range selected {
		options.HTTPClient, options.Scheme, options.Mapper = mgr.GetHTTPClient(), mgr.GetScheme(), mgr.GetRESTMapper()
		options.DefaultTransform = plan.Trim
		for _, namespace := range namespaces {
			if options.DefaultNamespaces == nil {
				options.DefaultNamespaces = map[string]cache.Config{}
			}
			options.DefaultNamespaces[namespace] = cache.Config{}
		}
		if all.own[kind], err = cache.New(mgr.GetConfig(), options); err != nil {
			return nil, fmt.Errorf("create a cache of %s: %w", kind, err)
		}
		if err := mgr.Add(all.own[kind]); err != nil {
			return nil, fmt.Errorf("add a cache of %s: %w", kind, err)
		}
	}
	return all, nil
}

// selections returns the selectors of the kinds of which only some objects are
// watched.
func selections() (map[status.Kind]cache.Options, error) {
	notCopied, err := labels.NewRequirement(plan.LabelRootPolicy, selection.DoesNotExist, nil)
	if err != nil {
		return nil, fmt.Errorf("select the policies: %w", err)
	}
	return map[status.Kind]cache.Options{
		status.KindPolicy: {DefaultLabelSelector: labels.NewSelector().Add(*notCopied)},
		// The ClusterRole allows only this name.
		status.KindManagedClusterAddOn: {DefaultFieldSelector: fields.OneTermEqualSelector("metadata.name", manifests.AddonName)},
	}, nil
}

func (c *caches) of(kind status.Kind) cache.Cache {
	if own, found := c.own[kind]; found {
		return own
	}
	return c.shared
}

// informer watches a kind, without waiting for its first list.
func (c *caches) informer(ctx context.Context, kind status.Kind) (cache.Informer, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(plan.Kinds[kind])
	return c.of(kind).GetInformer(ctx, object, cache.BlockUntilSynced(false))
}

// get returns an object from the cache.
func (c *caches) get(ctx context.Context, ref status.ObjectRef) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(plan.Kinds[ref.Kind])
	err := c.of(ref.Kind).Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, object)
	return object, err
}
