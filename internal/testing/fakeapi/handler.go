package fakeapi

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/watch"
)

// serve answers one request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if s.NotServed != "" && strings.HasPrefix(r.URL.Path, "/apis/"+s.NotServed+"/") {
		http.NotFound(w, r) // as a real API server answers
		return
	}
	k, ok := parse(r.URL.Path)
	if !ok {
		reply(w, http.StatusNotFound, &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotFound})
		return
	}
	request := Request{Verb: verb(r, k), Resource: k.resource, Namespace: k.namespace, Name: k.name}
	request.Resource += subresource(r.URL.Path)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, request)
	if request.Verb == "list" || request.Verb == "watch" {
		s.selectors[strings.TrimSpace(request.Resource+" "+r.URL.Query().Get("fieldSelector"))] = struct{}{}
	}
	before, after := s.Before, s.After
	s.mu.Unlock()
	if before != nil {
		if failure := before(request); failure != nil {
			reply(w, int(failure.ErrStatus.Code), &failure.ErrStatus)
			return
		}
	}
	if request.Verb == "watch" {
		s.watch(w, r, k)
		return
	}
	answer, failure := s.carryOut(request.Verb, k, body, r)
	if after != nil && failure == nil {
		failure = after(request)
	}
	if failure != nil {
		reply(w, int(failure.ErrStatus.Code), &failure.ErrStatus)
		return
	}
	reply(w, http.StatusOK, answer)
}

// parse reads /api/v1/namespaces/NS/RESOURCE[/NAME] and the like under /apis.
func parse(path string) (key, bool) {
	_, rest, ok := strings.Cut(path, "/namespaces/")
	parts := strings.Split(rest, "/")
	switch {
	case ok && len(parts) == 2:
		return key{resource: parts[1], namespace: parts[0]}, true
	case ok && (len(parts) == 3 || len(parts) == 4):
		return key{resource: parts[1], namespace: parts[0], name: parts[2]}, true
	default:
		return key{}, false
	}
}

// subresource is "/status" for a path that ends in it.
func subresource(path string) string {
	if strings.HasSuffix(path, "/status") {
		return "/status"
	}
	return ""
}

func verb(r *http.Request, k key) string {
	switch {
	case r.Method == http.MethodPost:
		return "create"
	case r.Method == http.MethodPut:
		return "update"
	case r.Method == http.MethodDelete:
		return "delete"
	case r.Method == http.MethodPatch:
		return "patch"
	case r.URL.Query().Get("watch") == "true":
		return "watch"
	case k.name == "":
		return "list"
	default:
		return "get"
	}
}

func (s *Server) carryOut(verb string, k key, body []byte, r *http.Request) (any, *apierrors.StatusError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	group := schema.GroupResource{Resource: k.resource}
	present, exists := s.objects[k]
	if r.URL.Query().Get("dryRun") != "" {
		version, objects := s.version, maps.Clone(s.objects)
		s.dryRun = true
		defer func() { s.version, s.objects, s.dryRun = version, objects, false }()
	}
	switch {
	case verb == "list":
		return s.list(k, r), nil
	case verb == "create":
		return s.create(k, body)
	case !exists:
		return nil, apierrors.NewNotFound(group, k.name)
	case verb == "get":
		return present, nil
	case verb == "patch":
		return s.patch(k, present, body)
	case verb == "update":
		return s.update(k, present, body)
	default:
		return s.delete(k, present, body)
	}
}

func (s *Server) create(k key, body []byte) (any, *apierrors.StatusError) {
	object, failure := s.decode(body)
	if failure != nil {
		return nil, failure
	}
	k.name = object.GetName()
	if _, exists := s.objects[k]; exists {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: k.resource}, k.name)
	}
	object.SetUID(uuid.NewUUID())
	s.store(k, object, watch.Added)
	return object, nil
}

func (s *Server) update(k key, present Object, body []byte) (any, *apierrors.StatusError) {
	object, failure := s.decode(body)
	if failure != nil {
		return nil, failure
	}
	group := schema.GroupResource{Resource: k.resource}
	if object.GetResourceVersion() != present.GetResourceVersion() || object.GetUID() != present.GetUID() {
		return nil, apierrors.NewConflict(group, k.name, nil)
	}
	if old, ok := present.(*corev1.ConfigMap); ok && old.Immutable != nil && *old.Immutable {
		now := object.(*corev1.ConfigMap)
		if now.Immutable == nil || !*now.Immutable || !equality.Semantic.DeepEqual(old.Data, now.Data) ||
			!equality.Semantic.DeepEqual(old.BinaryData, now.BinaryData) {
			return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, k.name, nil)
		}
	}
	s.store(k, object, watch.Modified)
	return object, nil
}

func (s *Server) delete(k key, present Object, body []byte) (any, *apierrors.StatusError) {
	var options metav1.DeleteOptions
	if _, _, err := s.decoder.Decode(body, nil, &options); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if p := options.Preconditions; p != nil {
		if p.UID != nil && *p.UID != present.GetUID() ||
			p.ResourceVersion != nil && *p.ResourceVersion != present.GetResourceVersion() {
			return nil, apierrors.NewConflict(schema.GroupResource{Resource: k.resource}, k.name, nil)
		}
	}
	s.remove(k)
	return &metav1.Status{Status: metav1.StatusSuccess}, nil
}

func (s *Server) decode(body []byte) (Object, *apierrors.StatusError) {
	object, _, err := s.decoder.Decode(body, nil, nil)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return object.(Object), nil
}

// list answers with the objects under k, as JSON needs them.
func (s *Server) list(k key, r *http.Request) any {
	state := snapshot{version: s.version, objects: s.objects}
	if s.snapshot != nil {
		state = *s.snapshot
	}
	items := []Object{}
	for _, candidate := range slices.SortedFunc(maps.Keys(state.objects), byName) {
		if s.selects(k, candidate, state.objects[candidate], r) {
			items = append(items, state.objects[candidate])
		}
	}
	return map[string]any{
		"kind": listKinds[k.resource], "apiVersion": apiVersions[k.resource],
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(state.version)},
		"items":    items,
	}
}

func byName(a, b key) int { return strings.Compare(a.name, b.name) }

func (s *Server) selects(k, candidate key, object Object, r *http.Request) bool {
	name, selected := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	return candidate.resource == k.resource && candidate.namespace == k.namespace && (!selected || candidate.name == name) &&
		err == nil && selector.Matches(labels.Set(object.GetLabels()))
}

func reply(w http.ResponseWriter, code int, answer any) {
	if status, ok := answer.(*metav1.Status); ok {
		// A copy: a test may give one failure as the answer to several requests.
		typed := *status
		typed.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		answer = &typed
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer)
}
