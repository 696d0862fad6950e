package node

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// objectKey is a Secret or ConfigMap of the cluster.
type objectKey struct {
	plan.Reference
	Namespace string
}

// The API server's authorizer learns of a pod a moment later than the node: the
// first reads of what it refers to may be forbidden for that long.
var firstRead = wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Steps: 7, Cap: 2 * time.Second}

// store watches the Secrets and ConfigMaps that pods of the node refer to, one
// watch for each object, as kubelet does: a node may not list them all.
type store struct {
	client   kubernetes.Interface
	clock    clock.WithTicker
	onChange func(objectKey)

	mu      sync.Mutex
	entries map[objectKey]*entry
	running sync.WaitGroup
}

// entry is one watched object.
type entry struct {
	users int
	stop  context.CancelFunc
	// object is nil when it does not exist; synced says that this is known.
	object any
	synced bool
	// err is why it could not be read so far.
	err error
}

func newStore(client kubernetes.Interface, c clock.WithTicker, onChange func(objectKey)) *store {
	return &store{client: client, clock: c, onChange: onChange, entries: map[objectKey]*entry{}}
}

// acquire begins to watch what a pod refers to; release ends it.
func (s *store) acquire(ctx context.Context, namespace string, refs map[plan.Reference]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ref := range refs {
		key := objectKey{ref, namespace}
		e, ok := s.entries[key]
		if !ok {
			watchCtx, stop := context.WithCancel(ctx)
			e = &entry{stop: stop}
			s.entries[key] = e
			s.running.Go(func() { s.watch(watchCtx, key, e) })
		}
		e.users++
	}
}

func (s *store) release(namespace string, refs map[plan.Reference]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ref := range refs {
		key := objectKey{ref, namespace}
		e := s.entries[key]
		if e.users--; e.users == 0 {
			e.stop()
			delete(s.entries, key)
		}
	}
}

// wait returns when all watches have ended.
func (s *store) wait() { s.running.Wait() }

// get is what exists of the references. It is not complete until all of them
// have been read, and err says why one has not.
func (s *store) get(namespace string, refs map[plan.Reference]bool) (found plan.Objects, complete bool, err error) {
	found = plan.Objects{Secrets: map[string]*corev1.Secret{}, ConfigMaps: map[string]*corev1.ConfigMap{}}
	complete = true
	s.mu.Lock()
	defer s.mu.Unlock()
	for ref := range refs {
		e := s.entries[objectKey{ref, namespace}]
		if !e.synced {
			complete = false
			if err == nil {
				err = e.err
			}
			continue
		}
		switch object := e.object.(type) {
		case *corev1.Secret:
			found.Secrets[ref.Name] = object
		case *corev1.ConfigMap:
			found.ConfigMaps[ref.Name] = object
		}
	}
	return found, complete, err
}

// refresh takes over what the informer knows of the object.
func (s *store) refresh(key objectKey, e *entry, known cache.Store) {
	s.mu.Lock()
	e.object, e.synced, e.err = nil, true, nil
	for _, object := range known.List() {
		e.object = object
	}
	s.mu.Unlock()
	s.onChange(key)
}

// failed notes why the object could not be read.
func (s *store) failed(key objectKey, e *entry, err error) {
	s.mu.Lock()
	e.err = err
	s.mu.Unlock()
	s.onChange(key)
}

// watch keeps the entry up to date until ctx ends.
func (s *store) watch(ctx context.Context, key objectKey, e *entry) {
	s.waitReadable(ctx, key, e)
	if ctx.Err() != nil {
		return
	}
	var known cache.Store
	refresh := func() { s.refresh(key, e, known) }
	var controller cache.Controller
	known, controller = cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: s.listWatch(key),
		ObjectType:    key.object(),
		Transform:     stripManagedFields,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { refresh() },
			UpdateFunc: func(any, any) { refresh() },
			DeleteFunc: func(any) { refresh() },
		},
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		controller.RunWithContext(ctx)
	}()
	if cache.WaitForCacheSync(ctx.Done(), controller.HasSynced) {
		refresh() // an object that does not exist has no event
	}
	<-done
}

// waitReadable returns when the object can be read; that it does not exist is an
// answer too. A watch that is refused at first would be tried again only after a
// second, and then after ever longer times.
func (s *store) waitReadable(ctx context.Context, key objectKey, e *entry) {
	backoff := firstRead
	for ctx.Err() == nil {
		err := s.read(ctx, key)
		if err == nil || apierrors.IsNotFound(err) {
			return
		}
		s.failed(key, e, err)
		select {
		case <-ctx.Done():
		case <-s.clock.After(backoff.Step()):
		}
	}
}

func (s *store) read(ctx context.Context, key objectKey) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var err error
	if key.Kind == plan.SecretKind {
		_, err = s.client.CoreV1().Secrets(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	} else {
		_, err = s.client.CoreV1().ConfigMaps(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	}
	return err
}

func (k objectKey) object() runtime.Object {
	if k.Kind == plan.SecretKind {
		return &corev1.Secret{}
	}
	return &corev1.ConfigMap{}
}

// listWatch is of the one object.
func (s *store) listWatch(key objectKey) cache.ListerWatcher {
	core := s.client.CoreV1()
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, key.Name).String()
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = only
			if key.Kind == plan.SecretKind {
				return core.Secrets(key.Namespace).List(ctx, o)
			}
			return core.ConfigMaps(key.Namespace).List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = only
			if key.Kind == plan.SecretKind {
				return core.Secrets(key.Namespace).Watch(ctx, o)
			}
			return core.ConfigMaps(key.Namespace).Watch(ctx, o)
		},
	}, s.client)
}

// stripManagedFields drops what the node never looks at and what is often the
// larger part of an object.
func stripManagedFields(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}
