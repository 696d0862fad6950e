package fakeapi

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
)

// Object is what the server stores.
type Object interface {
	runtime.Object
	metav1.Object
}

// Request is one request, as the server understood it.
type Request struct {
	// Verb is create, update, patch, delete, get, list or watch.
	Verb string
	// Resource includes the subresource.
	Resource  string
	Namespace string
	Name      string
}

func (r Request) String() string {
	return strings.TrimSuffix(fmt.Sprintf("%s %s %s/%s", r.Verb, r.Resource, r.Namespace, r.Name), "/")
}

// Server is the API server.
type Server struct {
	// Before, where set, is called before each request is carried out; what it
	// returns, where not nil, is the answer.
	Before func(Request) *apierrors.StatusError
	// After, where set, is called after each request but a watch that was
	// carried out; what it returns, where not nil, is the answer all the same.
	After func(Request) *apierrors.StatusError
	// NotServed is the API group that the server does not serve, or empty. It is set before Start.
	NotServed string

	http    *httptest.Server
	decoder runtime.Decoder

	mu       sync.Mutex
	version  int
	objects  map[key]Object
	watchers map[*watcher]struct{}
	requests []Request
	// selectors are the resources and field selectors that were read.
	selectors map[string]struct{}
	history   []past
	// oldest is the resource version before the first event in history.
	oldest int
	// dryRun reports that what is written now will be undone.
	dryRun bool
	// snapshot is what lists are answered with while it is set.
	snapshot *snapshot
}

// snapshot is the state at a resource version.
type snapshot struct {
	version int
	objects map[key]Object
}

// Stale makes lists be answered with the state of now from now on, as an API
// server does that has not heard of later writes; watches from there catch up.
func (s *Server) Stale() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snapshot = &snapshot{version: s.version, objects: maps.Clone(s.objects)}
}

// Fresh ends what Stale began.
func (s *Server) Fresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snapshot = nil
}

type key struct{ resource, namespace, name string }

// New starts a server; Close ends it.
func New() *Server {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, coordinationv1.AddToScheme, addonv1alpha1.Install, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			// The types are constants: this cannot happen.
			panic(err)
		}
	}
	s := &Server{
		decoder:  serializer.NewCodecFactory(scheme).UniversalDeserializer(),
		objects:  map[key]Object{},
		watchers: map[*watcher]struct{}{}, selectors: map[string]struct{}{},
	}
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	return s
}

// Start serves by plain HTTP, StartTLS by HTTPS with the certificate and the
// client authentication that the test sets on the server before.
func (s *Server) Start() { s.http.Start() }

// HTTP is the server underneath.
func (s *Server) HTTP() *httptest.Server { return s.http }

// Config is how clients reach the server.
func (s *Server) Config() *rest.Config {
	return &rest.Config{Host: s.http.URL, QPS: 10000, Burst: 10000}
}

// Close ends the watches and the server.
func (s *Server) Close() {
	s.EndWatches()
	s.http.CloseClientConnections()
	s.http.Close()
}

// EndWatches ends every watch, as an API server does from time to time.
func (s *Server) EndWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		w.end()
	}
}

// Requests returns the requests so far, and forgets them.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := s.requests
	s.requests = nil
	return requests
}

// Put creates or replaces an object without a request, as another client of
// the API server would.
func (s *Server) Put(resource string, object Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key{resource, object.GetNamespace(), object.GetName()}
	stored := object.DeepCopyObject().(Object)
	if present, ok := s.objects[k]; ok {
		stored.SetUID(present.GetUID())
		s.store(k, stored, watch.Modified)
		return
	}
	stored.SetUID(uuid.NewUUID())
	s.store(k, stored, watch.Added)
}

// Change changes an object without a request, as a controller would that writes nothing but these fields. It does nothing
// if there is no object.
func (s *Server) Change(resource, namespace, name string, change func(Object)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key{resource, namespace, name}
	present, ok := s.objects[k]
	if !ok {
		return
	}
	object := present.DeepCopyObject().(Object)
	change(object)
	if !equality.Semantic.DeepEqual(present, object) {
		s.store(k, object, watch.Modified)
	}
}

// Remove deletes an object without a request.
func (s *Server) Remove(resource, namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(key{resource, namespace, name})
}

// Get returns an object, or nil.
func (s *Server) Get(resource, namespace, name string) Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	if object, ok := s.objects[key{resource, namespace, name}]; ok {
		return object.DeepCopyObject().(Object)
	}
	return nil
}

// List returns the objects of a namespace, in no order.
func (s *Server) List(resource, namespace string) []Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	var objects []Object
	for k, object := range s.objects {
		if k.resource == resource && k.namespace == namespace {
			objects = append(objects, object.DeepCopyObject().(Object))
		}
	}
	return objects
}

// Selectors returns what was listed and watched so far, each as the resource
// and the field selector.
func (s *Server) Selectors() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.selectors))
}

// store puts an object under a new resource version. The lock is held.
func (s *Server) store(k key, object Object, event watch.EventType) {
	s.version++
	object.SetResourceVersion(strconv.Itoa(s.version))
	object.SetNamespace(k.namespace)
	s.objects[k] = object
	s.send(k, event, object)
}

// remove deletes an object, or marks it as deleted where it has finalizers.
// The lock is held.
func (s *Server) remove(k key) {
	object, ok := s.objects[k]
	if !ok {
		return
	}
	object = object.DeepCopyObject().(Object)
	if len(object.GetFinalizers()) > 0 {
		now := metav1.Now()
		object.SetDeletionTimestamp(&now)
		s.store(k, object, watch.Modified)
		return
	}
	s.version++
	object.SetResourceVersion(strconv.Itoa(s.version))
	delete(s.objects, k)
	s.send(k, watch.Deleted, object)
}
