package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Object is what is read.
type Object interface {
	runtime.Object
	metav1.Object
}

// Kept is what a view keeps of an object: its namespace and name at least.
type Kept interface {
	metav1.ObjectMetaAccessor
	GetName() string
}

// View is a cache of objects, of each of which it keeps a T. Its methods may be
// called from any goroutine.
type View[T Kept] struct {
	what     string
	informer cache.SharedIndexInformer
	running  context.Context
	logger   klog.Logger
	// deleted may be nil.
	deleted func(name string)

	mu   sync.Mutex
	last error
}

// New makes a view that lives as long as ctx, once it is run. What names its
// content in logs and errors; example is an empty object of the type that
// reader reads. Of each object convert's result is kept, and changed is called
// with its name whenever it may have changed.
func New[O Object, L runtime.Object, T Kept](ctx context.Context, what string, reader Reader[L], example O,
	convert func(O) T, changed func(name string)) (*View[T], error) {
	v := &View[T]{what: what, running: ctx, logger: klog.FromContext(ctx)}
	v.informer = cache.NewSharedIndexInformerWithOptions(listerWatcher(v.running, reader, v.note), example,
		cache.SharedIndexInformerOptions{ObjectDescription: what})
	_, handlerErr := v.informer.AddEventHandler(v.namesOf(changed))
	err := errors.Join(handlerErr,
		v.informer.SetTransform(func(object any) (any, error) {
			// What comes out of the cache again was converted before.
			if original, ok := object.(O); ok {
				return convert(original), nil
			}
			return object, nil
		}),
		v.informer.SetWatchErrorHandlerWithContext(v.interrupted))
	if err != nil {
		return nil, fmt.Errorf("set up the cache of %s: %w", what, err)
	}
	return v, nil
}

// OnDelete makes the view call deleted, before changed, with the name of each
// object that a watch event says was deleted. It is not called for one that a
// complete list lacks. OnDelete has to be called before Run.
func (v *View[T]) OnDelete(deleted func(name string)) { v.deleted = deleted }

// namesOf turns every event into the name it is about.
func (v *View[T]) namesOf(changed func(name string)) cache.ResourceEventHandler {
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

// deletedByWatch reports whether a watch event told of a deletion, and of what.
// For an object that a list lacks client-go makes up a DeletedFinalStateUnknown.
func deletedByWatch(object any) (name string, ok bool) {
	if _, missing := object.(cache.DeletedFinalStateUnknown); missing {
		return "", false
	}
	key, err := cache.ObjectToName(object)
	return key.Name, err == nil
}

// Run fills the view and keeps it up to date until the context ends that it
// was made with. It can be called once.
func (v *View[T]) Run() {
	v.informer.RunWithContext(v.running)
}

// syncPeriod is how often a view is looked at until it is filled.
const syncPeriod = 20 * time.Millisecond

// WaitForSync waits until the view is filled. It returns false when the
// context of the view ended first.
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

// Synced says whether the view was ever filled.
func (v *View[T]) Synced() bool {
	return v.informer.HasSynced()
}

// Get returns what is known of one object, or the zero T.
func (v *View[T]) Get(namespace, name string) T {
	key := cache.ObjectName{Namespace: namespace, Name: name}.String()
	object, _, _ := v.informer.GetStore().GetByKey(key)
	typed, _ := object.(T)
	return typed
}

// List returns all that is known, in no order.
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

// ByName returns all that is known. It is for views of one namespace.
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

// Err says why the view is not up to date, as far as that can be known.
func (v *View[T]) Err() error {
	if err := v.Unreadable(); err != nil {
		return err
	}
	if !v.Synced() {
		return fmt.Errorf("%s not listed yet", v.what)
	}
	return nil
}

// Unreadable says why the last request failed, or nil.
func (v *View[T]) Unreadable() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.last == nil {
		return nil
	}
	return fmt.Errorf("read %s: %w", v.what, v.last)
}

// note remembers the result of a request, and logs when requests stop or start
// to work.
func (v *View[T]) note(err error) {
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
		v.logger.Error(err, "Cannot read, going on with what is known", "what", v.what)
	case err == nil && last != nil:
		v.logger.Info("Can read again", "what", v.what)
	}
}

// interrupted is told why a list or a watch ended. Requests that failed were
// noted; what is left are watches that the API server ended, as it does.
func (v *View[T]) interrupted(_ context.Context, _ *cache.Reflector, err error) {
	verbosity := 2
	if errors.Is(err, io.EOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		verbosity = 4
	}
	v.logger.V(verbosity).Info("Watch ended", "what", v.what, "reason", err.Error())
}
