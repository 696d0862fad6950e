package klusterlet

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// informer is a SharedIndexInformer that needs little memory. It makes the same requests as
// client-go's, but calls the handlers where it updates the cache. client-go's has two goroutines
// and a buffer of 16 KiB for each handler.
//
// A handler delays the cache. Those of OCM's controllers only add a key to a queue.
type informer struct {
	// The interface's other methods panic: OCM's controllers do not use them.
	cache.SharedIndexInformer
	controller cache.Controller
	indexer    cache.Indexer
	started    atomic.Bool

	mu       sync.RWMutex
	handlers []cache.ResourceEventHandler
}

// errStarted is the error of a change to an informer that runs.
var errStarted = errors.New("the informer has started")

// AddEventHandler adds a handler. One that is added to a running informer first gets the objects in
// the cache; an object that comes at the same time it may get twice.
func (i *informer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.handlers = append(i.handlers, handler)
	for _, object := range i.indexer.List() {
		handler.OnAdd(object, true)
	}
	return i, nil
}

// AddIndexers adds indexers. It returns an error if the informer has started.
func (i *informer) AddIndexers(indexers cache.Indexers) error {
	if i.started.Load() {
		return errStarted
	}
	return i.indexer.AddIndexers(indexers)
}

// GetIndexer returns the cache.
func (i *informer) GetIndexer() cache.Indexer { return i.indexer }

// HasSynced reports whether the cache has had all objects.
func (i *informer) HasSynced() bool { return i.controller.HasSynced() }

// RunWithContext fills the cache until ctx ends.
func (i *informer) RunWithContext(ctx context.Context) {
	i.started.Store(true)
	i.controller.RunWithContext(ctx)
}

// OnAdd passes an event on to the handlers.
func (i *informer) OnAdd(object any, initial bool) {
	i.each(func(h cache.ResourceEventHandler) { h.OnAdd(object, initial) })
}

// OnUpdate passes an event on to the handlers.
func (i *informer) OnUpdate(old, object any) {
	i.each(func(h cache.ResourceEventHandler) { h.OnUpdate(old, object) })
}

// OnDelete passes an event on to the handlers.
func (i *informer) OnDelete(object any) {
	i.each(func(h cache.ResourceEventHandler) { h.OnDelete(object) })
}

func (i *informer) each(call func(cache.ResourceEventHandler)) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	for _, h := range i.handlers {
		call(h)
	}
}

// informerOf is an informer and its lister. It is one of the informers of the generated packages,
// which have these two methods.
type informerOf[L any] struct {
	*informer
	lister L
}

// Informer returns the informer.
func (i informerOf[L]) Informer() cache.SharedIndexInformer { return i.informer }

// Lister returns the lister.
func (i informerOf[L]) Lister() L { return i.lister }

// source lists and watches objects, as the generated clients do.
type source[T runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (T, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// newInformer returns an informer of the objects with the selectors.
func newInformer[T runtime.Object, L any](from source[T], selectors metav1.ListOptions, object runtime.Object,
	resync time.Duration, lister func(cache.Indexer) L) informerOf[L] {
	selected := func(o metav1.ListOptions) metav1.ListOptions {
		o.FieldSelector, o.LabelSelector = selectors.FieldSelector, selectors.LabelSelector
		return o
	}
	i := &informer{}
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return from.List(ctx, selected(o))
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return from.Watch(ctx, selected(o))
			},
		},
		ObjectType:   object,
		ResyncPeriod: resync,
		Handler:      i,
		Indexers:     cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
	})
	i.controller, i.indexer = controller, store.(cache.Indexer)
	return informerOf[L]{informer: i, lister: lister(i.indexer)}
}
