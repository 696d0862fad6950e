package memapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
)

// request is one request to a cluster's API, as read from the network or given in memory.
type request struct {
	method string
	path   string
	query  url.Values
	header http.Header
	body   []byte
}

// answer is the answer to a request: a body, or a watch.
type answer struct {
	code  int
	body  []byte
	text  bool // body is plain text and not JSON
	watch *watcher
}

// target is what the path of a request names.
type target struct {
	resource  schema.GroupVersionResource
	namespace string
	name      string
	sub       string
}

// parse returns the target of a path below /api/v1 or /apis/GROUP/VERSION.
func parse(path string) (target, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var t target
	switch {
	case len(parts) > 2 && parts[0] == "api":
		t.resource.Version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		t.resource.Group, t.resource.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return t, false
	}
	if parts[0] == "namespaces" && len(parts) > 2 && !(len(parts) == 3 && slices.Contains([]string{"status", "finalize"}, parts[2])) {
		t.namespace, parts = parts[1], parts[2:]
	}
	t.resource.Resource = parts[0]
	if len(parts) > 1 {
		t.name = parts[1]
	}
	if len(parts) > 2 {
		t.sub = strings.Join(parts[2:], "/")
	}
	return t, true
}

// answer answers a request. A watch that is answered has to be stopped.
func (a *API) answer(ctx context.Context, r *request) answer {
	if found, ok := a.discover(r.path); ok {
		return found
	}
	t, ok := parse(r.path)
	if !ok {
		return failure(notFound())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if ctx.Err() != nil || a.ctx.Err() != nil {
		return failure(apierrors.NewServiceUnavailable("the cluster is gone"))
	}
	k := a.kindOf(t.resource)
	if k == nil || !k.serves(t) {
		return failure(notFound())
	}
	if r.method == http.MethodGet && isWatch(r.query) && t.name == "" && !k.create {
		return a.startWatch(k, t, r)
	}
	do := a.single
	switch {
	case k.create:
		do = a.review
	case t.name == "":
		do = a.collection
	}
	code, body, err := do(k, t, r)
	if err != nil {
		return failure(err)
	}
	return answer{code: code, body: body}
}

func isWatch(query url.Values) bool { return query.Get("watch") == "true" || query.Get("watch") == "1" }

// notFound is the answer for a path that is not served.
func notFound() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Message: "the server could not find the requested resource", Details: &metav1.StatusDetails{}}}
}

func notAllowed(k *kind, method string) error {
	return apierrors.NewMethodNotSupported(k.GroupResource(), strings.ToLower(method))
}

// failure returns the answer for an error.
func failure(err error) answer {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		status = apierrors.NewInternalError(err)
	}
	return answer{code: int(status.Status().Code), body: statusBody(status)}
}

func statusBody(err apierrors.APIStatus) []byte {
	status := err.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	data, encodeErr := json.Marshal(status)
	if encodeErr != nil {
		return []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure"}`)
	}
	return data
}

// selection returns the selector of a list or watch.
func selection(t target, query url.Values) (selector, error) {
	s := selector{namespace: t.namespace}
	var err error
	if text := query.Get("labelSelector"); text != "" {
		if s.labels, err = labels.Parse(text); err != nil {
			return s, apierrors.NewBadRequest(fmt.Sprintf("invalid label selector: %s", err))
		}
	}
	if text := query.Get("fieldSelector"); text != "" {
		if s.fields, err = fields.ParseSelector(text); err != nil {
			return s, apierrors.NewBadRequest(fmt.Sprintf("invalid field selector: %s", err))
		}
	}
	return s, nil
}

func (a *API) startWatch(k *kind, t target, r *request) answer {
	s, err := selection(t, r.query)
	if err != nil {
		return failure(err)
	}
	o := metav1.ListOptions{
		ResourceVersion:     r.query.Get("resourceVersion"),
		AllowWatchBookmarks: r.query.Get("allowWatchBookmarks") == "true",
	}
	if text := r.query.Get("sendInitialEvents"); text != "" {
		all := text == "true"
		o.SendInitialEvents = &all
	}
	if seconds, err := strconv.ParseInt(r.query.Get("timeoutSeconds"), 10, 64); err == nil {
		o.TimeoutSeconds = &seconds
	}
	return answer{code: http.StatusOK, watch: a.watch(k, s, &o)}
}

// collection answers a request for all objects of a kind.
func (a *API) collection(k *kind, t target, r *request) (int, []byte, error) {
	switch r.method {
	case http.MethodGet:
		s, err := selection(t, r.query)
		return http.StatusOK, a.list(k, s), err
	case http.MethodPost:
		obj, err := decodeBody(k, r)
		if err != nil {
			return 0, nil, err
		}
		obj.SetManagedFields(nil)
		dryRun := r.query.Get("dryRun") != ""
		e, err := a.create(k, t.namespace, obj, dryRun)
		return entryAnswer(http.StatusCreated, k, e, err)
	case http.MethodDelete:
		s, err := selection(t, r.query)
		if err != nil {
			return 0, nil, err
		}
		body := a.list(k, s)
		return http.StatusOK, body, a.deleteAll(k, s, r)
	}
	return 0, nil, notAllowed(k, r.method)
}

func (a *API) deleteAll(k *kind, s selector, r *request) error {
	o, err := decodeDelete(r)
	if err != nil {
		return err
	}
	t := a.table(k.GroupResource())
	for _, n := range t.names(s.namespace) {
		if !s.matches(n, t.objects[n]) {
			continue
		}
		if _, err := a.delete(k, n, o); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// list returns a list of the selected objects.
func (a *API) list(k *kind, s selector) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":"%d"},"items":[`, k.name, k.apiVersion(), a.version)
	t, first := a.table(k.GroupResource()), true
	for _, n := range t.names(s.namespace) {
		e := t.objects[n]
		if !s.matches(n, e) {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		b.Write(e.in(k))
	}
	b.WriteString("]}")
	return b.Bytes()
}

// single answers a request for one object.
func (a *API) single(k *kind, t target, r *request) (int, []byte, error) {
	n := name{Namespace: t.namespace, Name: t.name}
	old := a.table(k.GroupResource()).objects[n]
	o := options{status: t.sub == "status", dryRun: r.query.Get("dryRun") != "", manager: manager(r)}
	if r.method == http.MethodPatch && types.PatchType(mediaType(r.header.Get("Content-Type"))) == types.ApplyPatchType {
		return a.apply(k, n, old, r, o)
	}
	if old == nil {
		return 0, nil, apierrors.NewNotFound(k.GroupResource(), t.name)
	}
	switch r.method {
	case http.MethodGet:
		return entryAnswer(http.StatusOK, k, old, nil)
	case http.MethodPut:
		obj, err := decodeBody(k, r)
		if err != nil {
			return 0, nil, err
		}
		e, err := a.update(k, old, obj, o)
		return entryAnswer(http.StatusOK, k, e, err)
	case http.MethodPatch:
		obj, err := patched(k, old, r)
		if err != nil {
			return 0, nil, err
		}
		e, err := a.update(k, old, obj, o)
		return entryAnswer(http.StatusOK, k, e, err)
	case http.MethodDelete:
		options, err := decodeDelete(r)
		if err != nil || t.sub != "" {
			return 0, nil, first(err, notAllowed(k, r.method))
		}
		e, err := a.delete(k, n, options)
		return deleteAnswer(k, e, err)
	}
	return 0, nil, notAllowed(k, r.method)
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func entryAnswer(code int, k *kind, e *entry, err error) (int, []byte, error) {
	if err != nil {
		return 0, nil, err
	}
	return code, e.in(k), nil
}

// deleteAnswer answers with the object while finalizers keep it, and else with a Status.
func deleteAnswer(k *kind, e *entry, err error) (int, []byte, error) {
	if err != nil || e.terminating {
		return entryAnswer(http.StatusOK, k, e, err)
	}
	data, err := json.Marshal(&metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Group: k.Group, Kind: k.Resource, UID: e.uid},
	})
	return http.StatusOK, data, err
}

// review answers an access review: everything is allowed.
func (a *API) review(k *kind, t target, r *request) (int, []byte, error) {
	if r.method != http.MethodPost || t.name != "" {
		return 0, nil, notAllowed(k, r.method)
	}
	obj, err := decodeBody(k, r)
	if err != nil {
		return 0, nil, err
	}
	obj.SetGroupVersionKind(k.gvk())
	everything := []any{map[string]any{"verbs": []any{"*"}, "apiGroups": []any{"*"}, "resources": []any{"*"}}}
	switch k.Resource {
	case "selfsubjectreviews":
		obj.Object["status"] = map[string]any{"userInfo": map[string]any{"username": "admin", "groups": []any{"system:masters"}}}
	case "selfsubjectrulesreviews":
		obj.Object["status"] = map[string]any{"resourceRules": everything, "nonResourceRules": []any{}, "incomplete": false}
	default:
		obj.Object["status"] = map[string]any{"allowed": true}
	}
	data, err := json.Marshal(obj.Object)
	return http.StatusCreated, data, err
}
