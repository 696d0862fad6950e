package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// lastKnown is an informer that passes the last known state of a deleted object to its
// handlers, instead of client-go's tombstone (cache.DeletedFinalStateUnknown).
//
// The event filters of addon-framework v1.3.0 do not check for tombstones and panic with
// a nil pointer. A tombstone arrives when an object is deleted while the watch is
// interrupted. All watches of the add-on API are interrupted when its conversion webhook
// is not reachable.
// https://github.com/open-cluster-management-io/addon-framework/blob/v1.3.0/pkg/addonmanager/controllers/agentdeploy/controller.go
type lastKnown struct {
	cache.SharedIndexInformer
}

func withLastKnown(informer cache.SharedIndexInformer) cache.SharedIndexInformer {
	return lastKnown{informer}
}

// AddEventHandler adds a handler that gets no tombstone.
func (l lastKnown) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return l.SharedIndexInformer.AddEventHandler(lastKnownHandler{handler})
}

// AddEventHandlerWithResyncPeriod adds a handler that gets no tombstone.
func (l lastKnown) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, resync time.Duration,
) (cache.ResourceEventHandlerRegistration, error) {
	return l.SharedIndexInformer.AddEventHandlerWithResyncPeriod(lastKnownHandler{handler}, resync)
}

// AddEventHandlerWithOptions adds a handler that gets no tombstone.
func (l lastKnown) AddEventHandlerWithOptions(handler cache.ResourceEventHandler, options cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	return l.SharedIndexInformer.AddEventHandlerWithOptions(lastKnownHandler{handler}, options)
}

type lastKnownHandler struct {
	cache.ResourceEventHandler
}

// OnDelete passes the object on. It drops an empty tombstone, which client-go creates
// only when its own cache fails, because no handler could use it.
func (h lastKnownHandler) OnDelete(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		if tombstone.Obj == nil {
			klog.Background().Error(nil, "Ignored the deletion of an object whose last state is unknown", "key", tombstone.Key)
			return
		}
		obj = tombstone.Obj
	}
	h.ResourceEventHandler.OnDelete(obj)
}

// copied is an informer whose indexer returns copies, so that a caller that changes an
// object does not change the cache.
//
// addon-framework v1.3.0 sets the approval on the certificate signing request in its
// cache before it sends it. When that update fails, the next reconcile finds the request
// approved and does nothing, so that the agent waits for its certificate until the
// controller restarts.
// https://github.com/open-cluster-management-io/addon-framework/blob/v1.3.0/pkg/addonmanager/controllers/certificate/csrapprove.go
type copied struct {
	cache.SharedIndexInformer
}

// GetIndexer returns an indexer that returns copies.
func (c copied) GetIndexer() cache.Indexer {
	return copyingIndexer{c.SharedIndexInformer.GetIndexer()}
}

// GetStore returns a store that returns copies.
func (c copied) GetStore() cache.Store {
	return c.GetIndexer()
}

type copyingIndexer struct {
	cache.Indexer
}

func (c copyingIndexer) List() []any { return copyAll(c.Indexer.List()) }

func (c copyingIndexer) Get(obj any) (any, bool, error) {
	found, exists, err := c.Indexer.Get(obj)
	return copyOf(found), exists, err
}

func (c copyingIndexer) GetByKey(key string) (any, bool, error) {
	found, exists, err := c.Indexer.GetByKey(key)
	return copyOf(found), exists, err
}

func (c copyingIndexer) Index(name string, obj any) ([]any, error) {
	found, err := c.Indexer.Index(name, obj)
	return copyAll(found), err
}

func (c copyingIndexer) ByIndex(name, value string) ([]any, error) {
	found, err := c.Indexer.ByIndex(name, value)
	return copyAll(found), err
}

func copyAll(objects []any) []any {
	copies := make([]any, len(objects))
	for i := range objects {
		copies[i] = copyOf(objects[i])
	}
	return copies
}

func copyOf(obj any) any {
	if object, ok := obj.(runtime.Object); ok {
		return object.DeepCopyObject()
	}
	return obj
}
