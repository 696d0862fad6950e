// Package view is the agent's cache of the objects in one namespace of an API server:
// a client-go informer that stores of each object only what its user needs, and that
// remembers whether the API server can be read.
//
// A failed, forbidden or interrupted list or watch never empties a view: only a
// complete list replaces its content (docs/design.md#rule-5-prune). A view calls its
// user with the name of an object that may have changed, not with the change.
package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Object is an object of an API server.
type Object interface {
	runtime.Object
	metav1.Object
}

// Stored is what a view stores of an object: at least its namespace and name.
type Stored interface {
	metav1.ObjectMetaAccessor
	GetName() string
}

// View is a cache that stores a T for each object. Its methods may be called from
// any goroutine.
type View[T Stored] struct {
	what     string
	informer cache.SharedIndexInformer
	running  context.Context
	logger   klog.Logger
	// deleted may be nil.
	deleted func(name string)

	mu sync.Mutex
	// last is the error of the last request, nil after a successful one.
	last error
}

// New returns a view that lives until ctx ends; Run starts it. What describes its
// objects in logs and errors, for example "ConfigMaps on the hub". Example is an empty
// object of the type that reader returns. The view stores convert's result for each
// object, and calls changed with the name of each object that may have changed.
func New[O Object, L runtime.Object, T Stored](ctx context.Context, what string, reader Reader[L], example O,
	convert func(O) T, changed func(name string)) (*View[T], error) {
	v := &View[T]{what: what, running: ctx, logger: klog.FromContext(ctx)}
	v.informer = cache.NewSharedIndexInformerWithOptions(listerWatcher(v.running, reader, v.record), example,
		cache.SharedIndexInformerOptions{ObjectDescription: what})
	_, handlerErr := v.informer.AddEventHandler(v.handler(changed))
	err := errors.Join(handlerErr,
		v.informer.SetTransform(func(object any) (any, error) {
			// A resync passes objects that were converted already.
			if original, ok := object.(O); ok {
				return convert(original), nil
			}
			return object, nil
		}),
		v.informer.SetWatchErrorHandlerWithContext(v.logWatchEnd))
	if err != nil {
		return nil, fmt.Errorf("set up the cache of %s: %w", what, err)
	}
	return v, nil
}

// OnDelete makes the view call deleted, before changed, with the name of each object
// that a watch event reports as deleted. It is not called for an object that is
// missing in a complete list. OnDelete must be called before Run.
func (v *View[T]) OnDelete(deleted func(name string)) { v.deleted = deleted }

// handler calls changed with the name of the object of each event.
func (v *View[T]) handler(changed func(name string)) cache.ResourceEventHandler {
	notify := func(object any) {
		if name, err := cache.DeletionHandlingObjectToName(object); err == nil {
			changed(name.Name)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    notify,
		UpdateFunc: func(_, object any) { notify(object) },
		DeleteFunc: func(object any) {
			if name, ok := deletedByWatch(object); ok && v.deleted != nil {
				v.deleted(name)
			}
			notify(object)
		},
	}
}

// deletedByWatch reports whether a watch event reported the deletion, and returns the
// object's name. For an object that is missing in a list, client-go passes a
// DeletedFinalStateUnknown.
func deletedByWatch(object any) (name string, ok bool) {
	if _, missing := object.(cache.DeletedFinalStateUnknown); missing {
		return "", false
	}
	key, err := cache.ObjectToName(object)
	return key.Name, err == nil
}

// Run fills the view and keeps it up to date until the context of New ends. It can be
// called once.
func (v *View[T]) Run() {
	v.informer.RunWithContext(v.running)
}

// syncPeriod is how often WaitForSync checks the informer.
const syncPeriod = 20 * time.Millisecond

// WaitForSync waits for the first complete list. It reports whether that came before
// the context of the view ended.
func (v *View[T]) WaitForSync(clock clock.WithTicker) bool {
	ticker := clock.NewTicker(syncPeriod)
	defer ticker.Stop()
	for !v.informer.HasSynced() {
		select {
		case <-v.running.Done():
			return false
		case <-ticker.C():
		}
	}
	return true
}

// Synced reports whether there was a complete list.
func (v *View[T]) Synced() bool {
	return v.informer.HasSynced()
}

// Get returns what is stored of one object, or the zero T.
func (v *View[T]) Get(namespace, name string) T {
	key := cache.ObjectName{Namespace: namespace, Name: name}.String()
	object, _, _ := v.informer.GetStore().GetByKey(key)
	typed, _ := object.(T)
	return typed
}

// List returns everything that is stored, in no order.
func (v *View[T]) List() []T {
	objects := v.informer.GetStore().List()
	list := make([]T, 0, len(objects))
	for _, object := range objects {
		if typed, ok := object.(T); ok {
			list = append(list, typed)
		}
	}
	return list
}

// ByName returns everything that is stored, by name. It is for views of one
// namespace.
func (v *View[T]) ByName() map[string]T {
	objects := v.informer.GetStore().List()
	names := make(map[string]T, len(objects))
	for _, object := range objects {
		if typed, ok := object.(T); ok {
			names[typed.GetName()] = typed
		}
	}
	return names
}

// Err returns the reason why the view is not up to date, as far as it is known.
func (v *View[T]) Err() error {
	if err := v.Unreadable(); err != nil {
		return err
	}
	if !v.Synced() {
		return fmt.Errorf("%s not listed yet", v.what)
	}
	return nil
}

// Unreadable returns the error of the last request, nil if it succeeded.
func (v *View[T]) Unreadable() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.last == nil {
		return nil
	}
	return fmt.Errorf("read %s: %w", v.what, v.last)
}

// record stores the result of a request, and logs when requests begin to fail or
// succeed again.
func (v *View[T]) record(err error) {
	if v.running.Err() != nil {
		return
	}
	err = Steady(err)
	v.mu.Lock()
	last := v.last
	v.last = err
	v.mu.Unlock()
	switch {
	case err != nil && (last == nil || last.Error() != err.Error()):
		v.logger.Error(err, "Failed to read, keeping the last known state", "what", v.what)
	case err == nil && last != nil:
		v.logger.Info("Reading again", "what", v.what)
	}
}

// logWatchEnd logs why a list or watch ended. Failed requests were logged by record;
// the others are watches that the API server ended, which is normal.
func (v *View[T]) logWatchEnd(_ context.Context, _ *cache.Reflector, err error) {
	verbosity := 2
	if errors.Is(err, io.EOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		verbosity = 4
	}
	v.logger.V(verbosity).Info("Watch ended", "what", v.what, "reason", err.Error())
}

// ownAddress matches the local address in a network error (net.OpError), for example
// "10.0.0.1:40001->" in "read tcp 10.0.0.1:40001->10.0.0.2:6443: connection reset".
var ownAddress = regexp.MustCompile(`\S*:\d+->`)

// Steady returns err without the local address in its message. The local port differs
// for each connection, and what is reported on change would be reported for each
// request.
func Steady(err error) error {
	if err == nil {
		return nil
	}
	message := err.Error()
	if steady := ownAddress.ReplaceAllLiteralString(message, ""); steady != message {
		return &steadyError{message: steady, err: err}
	}
	return err
}

type steadyError struct {
	message string
	err     error
}

func (e *steadyError) Error() string { return e.message }

func (e *steadyError) Unwrap() error { return e.err }
