package view

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilwait "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/internal/retry"
)

// Reader lists and watches the objects of one kind in one namespace.
type Reader[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// Selected restricts Reader to the objects that a field selector matches.
type Selected[L runtime.Object] struct {
	Reader   Reader[L]
	Selector string
}

// List lists the selected objects.
func (s Selected[L]) List(ctx context.Context, options metav1.ListOptions) (L, error) {
	options.FieldSelector = s.Selector
	return s.Reader.List(ctx, options)
}

// Watch watches the selected objects.
func (s Selected[L]) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.FieldSelector = s.Selector
	return s.Reader.Watch(ctx, options)
}

// Announced calls Listing before each list of Reader, also one that is sent as a stream.
type Announced[L runtime.Object] struct {
	Reader  Reader[L]
	Listing func()
}

// List lists the objects.
func (a Announced[L]) List(ctx context.Context, options metav1.ListOptions) (L, error) {
	a.Listing()
	return a.Reader.List(ctx, options)
}

// Watch watches the objects.
func (a Announced[L]) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if options.SendInitialEvents != nil {
		a.Listing()
	}
	return a.Reader.Watch(ctx, options)
}

const (
	// listTimeout bounds a list, for example of 5,000 objects.
	listTimeout = 60 * time.Second
	// watchStartTimeout bounds the time until the API server answers a watch with
	// its header. The watch itself has no timeout here.
	watchStartTimeout = 30 * time.Second
)

// listerWatcher reads for an informer until running ends, and calls record with the
// result of each request.
func listerWatcher[L runtime.Object](running context.Context, reader Reader[L], record func(error)) cache.ListerWatcher {
	brake := &brake{clock: clock.RealClock{}}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			ctx, cancel := context.WithTimeout(ctx, listTimeout)
			defer cancel()
			// The informer's own context never ends.
			defer context.AfterFunc(running, cancel)()
			list, err := reader.List(ctx, options)
			record(err)
			brake.hold(running, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			w, err := startWatch(ctx, reader, options)
			if !unsupported(err, options) {
				record(err)
			}
			brake.hold(running, err)
			return w, err
		},
	}
}

// unsupported reports whether the API server cannot send a list as a stream
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists). The
// informer then lists as usual, so this is no failure.
func unsupported(err error, options metav1.ListOptions) bool {
	return options.SendInitialEvents != nil && apierrors.IsInvalid(err)
}

// startWatch starts a watch, and fails when the API server does not answer within
// watchStartTimeout.
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

// cancellingWatch ends the watch's context when the watch is stopped.
type cancellingWatch struct {
	watch.Interface
	cancel func()
}

func (w *cancellingWatch) Stop() {
	w.Interface.Stop()
	w.cancel()
}

// The delays of a brake are those of client-go's own back-off:
// https://github.com/kubernetes/client-go/blob/v0.35.4/tools/cache/reflector.go
const (
	brakeBase = 800 * time.Millisecond
	brakeMax  = 30 * time.Second
	// brakeJitter makes a delay up to twice as long, so that many agents do not
	// come back to one API server in the same moment.
	brakeJitter = 1.0
)

// brake delays the requests of an informer whose API server keeps answering
// "expired". The informer then lists again at once, without the back-off that it has
// for other errors. That is right for the first answer; after it, an informer sends
// thousands of requests a second.
type brake struct {
	clock clock.Clock

	mu      sync.Mutex
	expired int
}

// hold waits as long as err requires, or until running ends.
func (b *brake) hold(running context.Context, err error) {
	if delay := b.next(err); delay > 0 {
		retry.Sleep(running, b.clock, utilwait.Jitter(delay, brakeJitter))
	}
}

// next returns the delay after a request that returned err. The first "expired" in a
// row has none.
func (b *brake) next(err error) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		b.expired = 0
		return 0
	}
	b.expired++
	return retry.Delay(b.expired-1, brakeBase, brakeMax)
}
