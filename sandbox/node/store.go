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

// firstRead is the back-off of the first read of an object. The API server's node
// authorizer may learn of a pod later than the node does, and forbids reads until
// then: https://kubernetes.io/docs/reference/access-authn-authz/node/
var firstRead = wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Steps: 7, Cap: 2 * time.Second}

// store watches the Secrets and ConfigMaps that the node's pods refer to. As in
// kubelet, each object has a watch, because a node may not list them all.
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
	// object is nil when it does not exist; it is valid once synced is true.
	object any
	synced bool
	// err is the error of the last read, until one succeeds.
	err error
}

func newStore(client kubernetes.Interface, c clock.WithTicker, onChange func(objectKey)) *store {
	return &store{client: client, clock: c, onChange: onChange, entries: map[objectKey]*entry{}}
}

// acquire starts to watch the objects that a pod refers to; release ends that.
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

// wait waits until all watches have ended.
func (s *store) wait() { s.running.Wait() }

// get returns the existing objects of the references. It is complete when all of
// them have been read; until then, err is why one has not.
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

// refresh copies the object from the informer.
func (s *store) refresh(key objectKey, e *entry, known cache.Store) {
	s.mu.Lock()
	e.object, e.synced, e.err = nil, true, nil
	for _, object := range known.List() {
		e.object = object
	}
	s.mu.Unlock()
	s.onChange(key)
}

// failed stores the error of a read.
func (s *store) failed(key objectKey, e *entry, err error) {
	s.mu.Lock()
	e.err = err
	s.mu.Unlock()
	s.onChange(key)
}

// watch updates the entry until ctx ends.
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

// waitReadable waits until a read of the object succeeds or reports that it does not
// exist. Without it, a watch that is forbidden at first would be retried only after
// a second, with growing delays.
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

// listWatch lists and watches the one object.
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

// stripManagedFields removes metadata.managedFields, which the node does not read and
// which are often the larger part of an object.
func stripManagedFields(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}
