package reporter

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/program"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// kinds are what is watched.
var kinds = map[status.Kind]schema.GroupVersionKind{
	status.KindPolicy:              {Group: "policy.open-cluster-management.io", Version: "v1", Kind: "Policy"},
	status.KindPlacementRule:       {Group: "apps.open-cluster-management.io", Version: "v1", Kind: "PlacementRule"},
	status.KindPlacement:           {Group: "cluster.open-cluster-management.io", Version: "v1beta1", Kind: "Placement"},
	status.KindPlacementDecision:   {Group: "cluster.open-cluster-management.io", Version: "v1beta1", Kind: "PlacementDecision"},
	status.KindSubscriptionStatus:  {Group: "apps.open-cluster-management.io", Version: "v1alpha1", Kind: "SubscriptionStatus"},
	status.KindSubscriptionReport:  {Group: "apps.open-cluster-management.io", Version: "v1alpha1", Kind: "SubscriptionReport"},
	status.KindManagedClusterAddOn: {Group: "addon.open-cluster-management.io", Version: "v1alpha1", Kind: "ManagedClusterAddOn"},
	status.KindManagedCluster:      {Group: "cluster.open-cluster-management.io", Version: "v1", Kind: "ManagedCluster"},
}

// watcher watches all kinds and tells the names of what changed.
type watcher struct {
	caches  *caches
	clock   clock.WithTicker
	changed func(status.ObjectRef)

	mu sync.Mutex
	// reads say of a watched kind whether all of it is known.
	reads map[status.Kind]func() bool
	// missing are the kinds that the leaf hub does not serve.
	missing map[status.Kind]bool
	names   map[status.ObjectRef]string
}

func newWatcher(caches *caches, clock clock.WithTicker, changed func(status.ObjectRef)) *watcher {
	return &watcher{caches: caches, clock: clock, changed: changed,
		reads: map[status.Kind]func() bool{}, missing: map[status.Kind]bool{}, names: map[status.ObjectRef]string{}}
}

// run watches until ctx ends.
func (w *watcher) run(ctx context.Context) {
	var group sync.WaitGroup
	for kind := range kinds {
		group.Go(func() { w.watch(ctx, kind) })
	}
	group.Wait()
}

// watch returns when a kind is watched, or ctx has ended.
func (w *watcher) watch(ctx context.Context, kind status.Kind) {
	program.UntilWatched(ctx, w.clock, func(ctx context.Context) error { return w.register(ctx, kind) }, func(err error, served bool) {
		logger := klog.FromContext(ctx).WithValues("kind", kind)
		if served {
			logger.Error(err, "Watch failed; it is tried again")
		} else {
			logger.Info("The leaf hub does not serve the kind; it is reported once it does")
		}
	})
}

func (w *watcher) register(ctx context.Context, kind status.Kind) error {
	informer, err := w.caches.informer(ctx, kind)
	if meta.IsNoMatchError(err) {
		w.note(kind, nil)
	}
	if err != nil {
		return fmt.Errorf("watch %s: %w", kind, err)
	}
	tell := func(obj any, present bool) {
		if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
			obj = gone.Obj
		}
		if object, ok := obj.(*unstructured.Unstructured); ok {
			w.tell(kind, object, present)
		}
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { tell(obj, true) },
		UpdateFunc: func(_, obj any) { tell(obj, true) },
		DeleteFunc: func(obj any) { tell(obj, false) },
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", kind, err)
	}
	w.note(kind, registration.HasSynced)
	return nil
}

// note notes that a kind is watched, and how to know whether all of it is known;
// nil: the leaf hub does not serve it.
func (w *watcher) note(kind status.Kind, whole func() bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.missing[kind] = whole == nil
	if whole != nil {
		w.reads[kind] = whole
	}
}

// tell notes what is there, and says what changed. An object that is not
// reported changes nothing, unless it was.
func (w *watcher) tell(kind status.Kind, object *unstructured.Unstructured, present bool) {
	ref := status.ObjectRef{Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName()}
	id, wanted := idOf(kind, object)
	w.mu.Lock()
	_, had := w.names[ref]
	if present && wanted {
		w.names[ref] = id
	} else {
		delete(w.names, ref)
	}
	w.mu.Unlock()
	if wanted || had {
		w.changed(ref)
	}
}

// present are the reported objects that there are of some kinds, with their ids.
func (w *watcher) present(which map[status.Kind]bool) map[status.ObjectRef]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := map[status.ObjectRef]string{}
	for ref, id := range w.names {
		if which[ref.Kind] {
			names[ref] = id
		}
	}
	return names
}

// read are the kinds that are known as a whole.
func (w *watcher) read() map[status.Kind]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	read := map[status.Kind]bool{}
	for kind, whole := range w.reads {
		if whole() {
			read[kind] = true
		}
	}
	return read
}

// unserved are the kinds that the leaf hub has said it does not have.
func (w *watcher) unserved() map[status.Kind]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.missing)
}

// trim keeps what is reported of an object: the watch holds all of them.
func trim(obj any) (any, error) {
	object, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil
	}
	object.SetManagedFields(nil)
	annotations := object.GetAnnotations()
	if _, found := annotations["kubectl.kubernetes.io/last-applied-configuration"]; found {
		delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
		object.SetAnnotations(annotations)
	}
	if object.GetKind() == "Policy" {
		unstructured.RemoveNestedField(object.Object, "spec")
		unstructured.RemoveNestedField(object.Object, "status", "details")
		unstructured.RemoveNestedField(object.Object, "status", "placement")
	}
	return object, nil
}
