package view

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// Reader reads the objects of one kind in one namespace.
type Reader[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// Selected reads only the objects that a field selector names.
type Selected[L runtime.Object] struct {
	Reader   Reader[L]
	Selector string
}

// List lists what is selected.
func (s Selected[L]) List(ctx context.Context, options metav1.ListOptions) (L, error) {
	options.FieldSelector = s.Selector
	return s.Reader.List(ctx, options)
}

// Watch watches what is selected.
func (s Selected[L]) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.FieldSelector = s.Selector
	return s.Reader.Watch(ctx, options)
}

const (
	// listTimeout bounds a list, which may be 5,000 objects long.
	listTimeout = 60 * time.Second
	// watchStartTimeout bounds the time until an API server answers a watch
	// with its header; the watch itself may then last.
	watchStartTimeout = 30 * time.Second
)

// listerWatcher reads for an informer, until running ends, and calls note with
// the result of each request.
func listerWatcher[L runtime.Object](running context.Context, reader Reader[L], note func(error)) cache.ListerWatcher {
	brake := &brake{clock: clock.RealClock{}}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			ctx, cancel := context.WithTimeout(ctx, listTimeout)
			defer cancel()
			// The informer hands in a context that never ends.
			defer context.AfterFunc(running, cancel)()
			list, err := reader.List(ctx, options)
			note(err)
			brake.hold(running, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			w, err := startWatch(ctx, reader, options)
			if !unsupported(err, options) {
				note(err)
			}
			brake.hold(running, err)
			return w, err
		},
	}
}

// unsupported says that an API server does not know how to send the list as a
// stream. The informer then lists as usual, so that this is no failure.
func unsupported(err error, options metav1.ListOptions) bool {
	return options.SendInitialEvents != nil && apierrors.IsInvalid(err)
}

// startWatch gives up when the API server does not answer in time.
func startWatch[L runtime.Object](ctx context.Context, reader Reader[L], options metav1.ListOptions) (watch.Interface, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	starting, started := context.WithTimeout(ctx, watchStartTimeout)
	stop := context.AfterFunc(starting, func() {
		cancel(fmt.Errorf("no answer to a watch within %s", watchStartTimeout))
	})
	w, err := reader.Watch(ctx, options)
	stop()
	started()
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		cancel(nil)
		return nil, err
	}
	return &cancellingWatch{Interface: w, cancel: func() { cancel(nil) }}, nil
}

// cancellingWatch frees the watch's context when the watch is stopped.
type cancellingWatch struct {
	watch.Interface
	cancel func()
}

func (w *cancellingWatch) Stop() {
	w.Interface.Stop()
	w.cancel()
}
