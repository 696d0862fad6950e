package diff

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// fakeHub is an API server that serves objects, lists in pages, and dry runs, and refuses on demand. internal/testing/fakeapi has
// neither pages nor lists of all namespaces.
type fakeHub struct {
	// refuse answers the requests of "METHOD path" in another way.
	refuse map[string]http.HandlerFunc
	// notServed is a part of paths that no API serves.
	notServed string

	mu       sync.Mutex
	objects  map[string]map[string]any // by path
	requests []string
	writes   []string
}

func newFakeHub() *fakeHub {
	return &fakeHub{refuse: map[string]http.HandlerFunc{}, objects: map[string]map[string]any{}, notServed: "/none/"}
}

// plurals of the kinds.
var plurals = map[string]string{"ConfigMap": "configmaps", "ManagedCluster": "managedclusters", "ManagedClusterAddOn": "managedclusteraddons",
	"ConfigMapMirror": "configmapmirrors", "ConfigMapReplicaSet": "configmapreplicasets", "Placement": "placements", "PlacementDecision": "placementdecisions"}

// put stores the objects of a YAML text.
func (f *fakeHub) put(t *testing.T, text string) {
	t.Helper()
	for document := range strings.SplitSeq(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		if object.GetUID() == "" {
			object.SetUID(types.UID("uid-" + object.GetNamespace() + "-" + object.GetName()))
		}
		f.store(object)
	}
}

func (f *fakeHub) store(object *unstructured.Unstructured) {
	path := "/apis/" + object.GetAPIVersion()
	if object.GetAPIVersion() == "v1" {
		path = "/api/v1"
	}
	if object.GetNamespace() != "" {
		path += "/namespaces/" + object.GetNamespace()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.objects[path+"/"+plurals[object.GetKind()]+"/"+object.GetName()] = object.Object
}

func (f *fakeHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.requests = append(f.requests, r.Method+" "+r.URL.RequestURI())
	if r.Method != http.MethodGet && r.URL.Query().Get("dryRun") != "All" {
		f.writes = append(f.writes, r.Method+" "+r.URL.RequestURI())
	}
	f.mu.Unlock()
	path := r.URL.Path
	switch refuse := f.refuse[r.Method+" "+path]; {
	case refuse != nil:
		refuse(w, r)
	case strings.Contains(path, f.notServed):
		http.Error(w, "404 page not found", http.StatusNotFound)
	case r.Method == http.MethodPost:
		f.admit(w, nil, body)
	case r.Method == http.MethodPatch:
		f.patch(w, r, body)
	case f.get(path) != nil:
		_ = json.NewEncoder(w).Encode(f.get(path))
	case slices.Contains(slices.Collect(maps.Values(plurals)), path[strings.LastIndex(path, "/")+1:]):
		f.list(w, r)
	default:
		answer(http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf("%q not found", path[strings.LastIndex(path, "/")+1:]))(w, r)
	}
}

func (f *fakeHub) get(path string) map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.objects[path]
}

// list answers with the objects whose path is that of the list, in all namespaces if it names none.
func (f *fakeHub) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	byField, err := fields.ParseSelector(query.Get("fieldSelector"))
	byLabel, errLabel := labels.Parse(query.Get("labelSelector"))
	if err != nil || errLabel != nil {
		http.Error(w, "bad selector", http.StatusBadRequest)
		return
	}
	at := strings.LastIndex(r.URL.Path, "/")
	prefix, plural := r.URL.Path[:at], r.URL.Path[at:]+"/"
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for path, object := range f.objects {
		o := unstructured.Unstructured{Object: object}
		if strings.HasPrefix(path, prefix+"/") && strings.Contains(path, plural) && byLabel.Matches(labels.Set(o.GetLabels())) &&
			byField.Matches(fields.Set{"metadata.name": o.GetName()}) {
			names = append(names, path)
		}
	}
	slices.Sort(names)
	limit, _ := strconv.Atoi(query.Get("limit"))
	from, _ := strconv.Atoi(query.Get("continue"))
	to, next := min(from+limit, len(names)), ""
	if to < len(names) {
		next = strconv.Itoa(to)
	}
	items := []any{}
	for _, name := range names[from:to] {
		items = append(items, f.objects[name])
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "v1", "items": items, "kind": "List", "metadata": map[string]any{"resourceVersion": "1", "continue": next}})
}

// patch answers a dry run of a patch.
func (f *fakeHub) patch(w http.ResponseWriter, r *http.Request, body []byte) {
	live := f.get(r.URL.Path)
	before, _ := json.Marshal(live)
	var after []byte
	var err error
	switch types.PatchType(r.Header.Get("Content-Type")) {
	case types.StrategicMergePatchType:
		after, err = strategicpatch.StrategicMergePatch(before, body, corev1.ConfigMap{})
	case types.ApplyPatchType:
		if live == nil {
			before = []byte("{}")
		}
		after, err = jsonpatch.MergePatch(before, body)
	default:
		after, err = jsonpatch.MergePatch(before, body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.admit(w, live, after)
}

// admit answers with the object that a write makes, as far as the API server accepts it.
func (f *fakeHub) admit(w http.ResponseWriter, live map[string]any, raw []byte) {
	object := map[string]any{}
	_ = json.Unmarshal(raw, &object)
	if immutable, _, _ := unstructured.NestedBool(live, "immutable"); immutable && fmt.Sprint(live["data"]) != fmt.Sprint(object["data"]) {
		answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, `ConfigMap "fixed" is invalid: data: Forbidden: field is immutable when `+"`immutable` is set")(w, nil)
		return
	}
	_ = json.NewEncoder(w).Encode(object)
}

// answer is an answer with an error of the API server.
func answer(code int, reason metav1.StatusReason, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message})
	}
}

func forbidden(verb, resource string) http.HandlerFunc {
	return answer(http.StatusForbidden, metav1.StatusReasonForbidden,
		fmt.Sprintf(`%s is forbidden: User "ada" cannot %s resource %q in API group "" at the cluster scope`, resource, verb, resource))
}

// run runs "kubectl helloworld diff" with these arguments and standard input, and checks that nothing is written.
func (f *fakeHub) run(t *testing.T, stdin string, arguments ...string) (stdout, stderr string, err error) {
	t.Helper()
	server := httptest.NewServer(f)
	defer server.Close()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("HOME", t.TempDir())
	config := genericclioptions.NewConfigFlags(false)
	streams, in, out, errs := genericiooptions.NewTestIOStreams()
	_, _ = io.Copy(in, bytes.NewBufferString(stdin))
	command := newCommand(config, streams, clocktesting.NewFakePassiveClock(now))
	config.AddFlags(command.PersistentFlags())
	command.SilenceUsage, command.SilenceErrors = true, true
	command.SetArgs(append(arguments, "--server", server.URL))
	err = command.ExecuteContext(context.Background())
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.writes) > 0 {
		t.Errorf("requests that are no dry runs: %v", f.writes)
	}
	return out.String(), errs.String(), err
}
