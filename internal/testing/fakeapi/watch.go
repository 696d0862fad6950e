package fakeapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
)

var (
	listKinds = map[string]string{
		"configmaps": "ConfigMapList", "secrets": "SecretList", "pods": "PodList", "leases": "LeaseList",
		"events": "EventList", "managedclusteraddons": "ManagedClusterAddOnList", "configmapmirrors": "ConfigMapMirrorList",
		"configmapreplicasets": "ConfigMapReplicaSetList", "controllerrevisions": "ControllerRevisionList",
	}
	kinds = map[string]string{
		"configmaps": "ConfigMap", "secrets": "Secret", "pods": "Pod", "leases": "Lease",
		"events": "Event", "managedclusteraddons": "ManagedClusterAddOn", "configmapmirrors": "ConfigMapMirror",
		"configmapreplicasets": "ConfigMapReplicaSet", "controllerrevisions": "ControllerRevision",
	}
	apiVersions = map[string]string{
		"configmaps": "v1", "secrets": "v1", "pods": "v1", "leases": "coordination.k8s.io/v1",
		"events": "v1", "managedclusteraddons": addonv1alpha1.GroupVersion.String(), "configmapmirrors": v1alpha1.GroupVersion.String(),
		"configmapreplicasets": v1alpha1.GroupVersion.String(), "controllerrevisions": appsv1.SchemeGroupVersion.String(),
	}
)

// watcher is one watch.
type watcher struct {
	key     key
	request *http.Request
	events  chan metav1.WatchEvent
	once    sync.Once
	done    chan struct{}
}

func (w *watcher) end() {
	w.once.Do(func() { close(w.done) })
}

// past is one event, for watches that start from before it.
type past struct {
	version int
	key     key
	object  Object
	event   metav1.WatchEvent
}

// send sends the object to every watch that selects it. The caller holds the lock.
func (s *Server) send(k key, event watch.EventType, object Object) {
	if s.dryRun {
		return
	}
	now := past{version: s.version, key: k, object: object, event: eventFor(k.resource, event, object)}
	s.history = append(s.history, now)
	for w := range s.watchers {
		s.tell(w, now)
	}
}

func (s *Server) tell(w *watcher, p past) {
	if !s.selects(w.key, p.key, p.object, w.request) {
		return
	}
	select {
	case w.events <- p.event:
	case <-w.done:
	}
}

func eventFor(resource string, event watch.EventType, object Object) metav1.WatchEvent {
	stored := object.DeepCopyObject().(Object)
	stored.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersions[resource], kinds[resource]))
	raw, err := json.Marshal(stored)
	if err != nil {
		// The types are Kubernetes' own: this cannot happen.
		panic(err)
	}
	return metav1.WatchEvent{Type: string(event), Object: runtime.RawExtension{Raw: raw}}
}

// Forget makes watches from an earlier resource version expire.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history, s.oldest = nil, s.version
}

// watch streams what changed since the resource version that is asked for.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, k key) {
	if r.URL.Query().Get("sendInitialEvents") != "" {
		invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil)
		reply(w, int(invalid.ErrStatus.Code), &invalid.ErrStatus)
		return
	}
	watcher := &watcher{key: k, request: r, events: make(chan metav1.WatchEvent, 10000), done: make(chan struct{})}
	from, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	s.mu.Lock()
	if err != nil || from < s.oldest {
		s.mu.Unlock()
		expired := apierrors.NewResourceExpired("too old resource version")
		reply(w, int(expired.ErrStatus.Code), &expired.ErrStatus)
		return
	}
	for _, p := range s.history {
		if p.version > from {
			s.tell(watcher, p)
		}
	}
	s.watchers[watcher] = struct{}{}
	s.mu.Unlock()
	defer func() {
		watcher.end()
		s.mu.Lock()
		delete(s.watchers, watcher)
		s.mu.Unlock()
	}()

	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	encoder := json.NewEncoder(w)
	for {
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-watcher.done:
			return
		case event := <-watcher.events:
			if encoder.Encode(event) != nil {
				return
			}
		}
	}
}
