package controller

import (
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// lastKnown is an informer whose handlers get the last known state of an object
// that was deleted while nobody watched, and not client-go's tombstone
// (cache.DeletedFinalStateUnknown) around it.
//
// The event filters of addon-framework v1.3.0 do not look for tombstones and die
// of the first one with a nil pointer. One comes whenever something is deleted
// while a watch is interrupted, as all watches of the add-on API are when its
// conversion webhook is away.
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

// OnDelete hands the object on. A tombstone with nothing in it, which client-go
// makes only when its own cache failed, is dropped: no handler could use it.
func (h lastKnownHandler) OnDelete(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		if tombstone.Obj == nil {
			klog.Background().Error(nil, "Ignoring the deletion of an object whose last state is lost", "key", tombstone.Key)
			return
		}
		obj = tombstone.Obj
	}
	h.ResourceEventHandler.OnDelete(obj)
}
