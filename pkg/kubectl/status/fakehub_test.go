package status

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/manifests"
)

// Paths of the hub's API.
const (
	clustersPath = "/apis/cluster.open-cluster-management.io/v1/managedclusters"
	setsPath     = "/apis/cluster.open-cluster-management.io/v1beta2/managedclustersets"
	addOnsPath   = "/apis/addon.open-cluster-management.io/v1alpha1/managedclusteraddons"
	newAddOns    = "/apis/addon.open-cluster-management.io/v1beta1/managedclusteraddons"
	managingPath = "/apis/addon.open-cluster-management.io/v1alpha1/clustermanagementaddons"
	mirrorsPath  = "/apis/helloworld.open-cluster-management.io/v1alpha1/configmapmirrors"
	worksPath    = "/apis/work.open-cluster-management.io/v1/manifestworks"
)

// fakeHub is an API server that serves lists in pages, watches, and single objects, and refuses on demand. internal/testing/fakeapi has
// neither pages nor lists of all namespaces.
type fakeHub struct {
	// refuse answers the requests of a path in another way.
	refuse map[string]http.HandlerFunc

	mu       sync.Mutex
	objects  map[string][]metav1.Object
	requests []*http.Request
	watchers map[string]chan string
	version  int
}

// newFakeHub returns a hub that serves every resource, and has no cluster.
func newFakeHub() *fakeHub {
	return &fakeHub{
		refuse: map[string]http.HandlerFunc{}, watchers: map[string]chan string{}, version: 100,
		objects: map[string][]metav1.Object{clustersPath: nil, addOnsPath: nil, mirrorsPath: nil, worksPath: nil, setsPath: nil,
			managingPath: {&addonv1alpha1.ClusterManagementAddOn{ObjectMeta: metav1.ObjectMeta{Name: manifests.AddonName}}}},
	}
}

func (f *fakeHub) serve(t *testing.T) *hub {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	h, err := newHub(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (f *fakeHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.requests = append(f.requests, r)
	f.mu.Unlock()
	path := r.URL.Path
	if refuse := f.refuse[path]; refuse != nil {
		refuse(w, r)
		return
	}
	collection, name, _ := strings.Cut(strings.TrimPrefix(path, "/apis/"), "s/")
	if objects, ok := f.list(path); ok {
		if r.URL.Query().Get("watch") == "true" {
			f.watch(w, r)
			return
		}
		f.page(w, r, objects)
		return
	}
	objects, _ := f.list("/apis/" + collection + "s")
	for _, object := range objects {
		if object.GetName() == name {
			_ = json.NewEncoder(w).Encode(object)
			return
		}
	}
	http.Error(w, "404 page not found", http.StatusNotFound)
}

func (f *fakeHub) list(path string) ([]metav1.Object, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	objects, ok := f.objects[path]
	return slices.Clone(objects), ok
}

// page answers with the fields in the order of custom resources: the items first.
func (f *fakeHub) page(w http.ResponseWriter, r *http.Request, objects []metav1.Object) {
	query := r.URL.Query()
	name, byName := strings.CutPrefix(query.Get("fieldSelector"), "metadata.name=")
	selector, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	objects = slices.DeleteFunc(objects, func(o metav1.Object) bool {
		return byName && o.GetName() != name || !selector.Matches(labels.Set(o.GetLabels()))
	})
	limit, _ := strconv.Atoi(query.Get("limit"))
	from, _ := strconv.Atoi(query.Get("continue"))
	to := min(from+limit, len(objects))
	next := ""
	if to < len(objects) {
		next = strconv.Itoa(to)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "v1", "items": objects[from:to], "kind": "List",
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(f.version), "continue": next}})
}

// watch sends what send is given, until the client ends it.
func (f *fakeHub) watch(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	events := make(chan string)
	f.watchers[r.URL.Path] = events
	f.mu.Unlock()
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case event := <-events:
			if event == "" { // the end
				return
			}
			fmt.Fprintln(w, event)
			w.(http.Flusher).Flush()
		}
	}
}

// send sends an event to the watch of a path, once there is one.
func (f *fakeHub) send(t *testing.T, path, kind string, object any) {
	t.Helper()
	text := ""
	if object != nil {
		raw, err := json.Marshal(map[string]any{"type": kind, "object": object})
		if err != nil {
			t.Fatal(err)
		}
		text = string(raw)
	}
	deadline := time.After(time.Minute)
	for {
		f.mu.Lock()
		events := f.watchers[path]
		f.mu.Unlock()
		select {
		case events <- text:
			return
		case <-time.After(10 * time.Millisecond):
		case <-deadline:
			t.Fatalf("nobody watches %s", path)
		}
	}
}

func (f *fakeHub) put(path string, objects ...metav1.Object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.objects[path] = append(f.objects[path], objects...)
}

// paths returns the paths of the requests so far, with their parameters.
func (f *fakeHub) paths() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for _, r := range f.requests {
		all = append(all, r.URL.RequestURI())
	}
	slices.Sort(all)
	return all
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

func forbidden(resource string) http.HandlerFunc {
	return answer(http.StatusForbidden, metav1.StatusReasonForbidden, resource+` is forbidden: User "ada" cannot list resource`)
}

func notServed(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "404 page not found", http.StatusNotFound)
}

// now is the caller's time in tests.
var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

func condition(kind string, status metav1.ConditionStatus, reason, message string, since time.Duration) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: ago(since)}
}

// managed returns an available ManagedCluster.
func managed(name string, clusterLabels map[string]string) *clusterv1.ManagedCluster {
	c := hubobjects.Cluster(name)
	c.Labels = clusterLabels
	c.Status.Conditions = []metav1.Condition{condition("HubAcceptedManagedCluster", "True", "", "", 100*time.Hour),
		condition(clusterv1.ManagedClusterConditionAvailable, "True", "ManagedClusterAvailable", "Managed cluster is available", 100*time.Hour)}
	return c
}

// addOn returns an add-on whose certificate expires in 29 days, with these further conditions.
func addOn(cluster string, conditions ...metav1.Condition) *addonv1alpha1.ManagedClusterAddOn {
	o := &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Name: manifests.AddonName, Namespace: cluster, CreationTimestamp: ago(100 * time.Hour)}}
	o.Status.Conditions = append([]metav1.Condition{condition("ClusterCertificateRotated", "True", "ClientCertificateUpdated",
		"client certificate rotated starting from 2026-11-22 12:00:00 +0000 UTC to 2026-12-22 12:00:00 +0000 UTC", 24*time.Hour)}, conditions...)
	return o
}

var (
	isAvailable = condition("Available", "True", "ManagedClusterAddOnLeaseUpdated", "helloworld add-on is available.", 48*time.Hour)
	isSynced    = condition("ConfigMapsSynced", "True", "Synced", "3 of 3 ConfigMaps synced", 26*time.Hour)
)

func mirror(cluster string, total, synced int32, configMaps ...v1alpha1.MirroredConfigMap) *v1alpha1.ConfigMapMirror {
	return &v1alpha1.ConfigMapMirror{ObjectMeta: metav1.ObjectMeta{Name: manifests.AddonName, Namespace: cluster},
		Status: &v1alpha1.ConfigMapMirrorStatus{Total: total, Synced: synced, ConfigMaps: configMaps}}
}

// work returns the ManifestWork with the agent, which runs where the Deployment is rolled out.
func work(t *testing.T, cluster, image string, rolledOut bool) *workv1.ManifestWork {
	t.Helper()
	feedback := hubobjects.RolledOut()
	if !rolledOut {
		feedback = hubobjects.With(feedback, "availableReplicas", 0)
	}
	w := hubobjects.AgentWork("", feedback)
	w.Namespace, w.Labels = cluster, map[string]string{"open-cluster-management.io/addon-name": manifests.AddonName}
	d := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{Kind: "Deployment", APIVersion: "apps/v1"}}
	d.Name, d.Annotations = manifests.AgentDeployment, map[string]string{manifests.ConfigHashAnnotation: "new"}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: manifests.AgentDeployment, Image: image}}
	raw, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	account := workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(`{"kind":"ServiceAccount","metadata":{"name":"helloworld-agent"}}`)}}
	w.Spec.Workload.Manifests = []workv1.Manifest{account, {RawExtension: runtime.RawExtension{Raw: raw}}}
	return w
}

// image is not one of the project, whose tags a release changes.
const image = "quay.io/acme/helloworld-addon-agent:v0.1.0"

// newFleet returns a hub with six clusters: one is well, one without the add-on, one has a conflict, one is lost, one rolls another
// image out, and one has no ManagedCluster.
func newFleet(t *testing.T) *fakeHub {
	t.Helper()
	f := newFakeHub()
	lost := managed("cluster3", map[string]string{"region": "us"})
	lost.Status.Conditions[1] = condition(clusterv1.ManagedClusterConditionAvailable, "Unknown", "ManagedClusterLeaseUpdateStopped",
		"Registration agent stopped updating its lease.", 3*time.Hour)
	f.put(clustersPath, managed("cluster1", map[string]string{"region": "eu", clusterv1beta2.ClusterSetLabel: "prod"}),
		managed("cluster2", map[string]string{"region": "eu"}), lost, managed("cluster4", map[string]string{"region": "us"}),
		managed("cluster5", nil))
	f.put(setsPath, &clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: "prod"}},
		&clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: "us"}, Spec: clusterv1beta2.ManagedClusterSetSpec{
			ClusterSelector: clusterv1beta2.ManagedClusterSelector{SelectorType: clusterv1beta2.LabelSelector,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"region": "us"}}}}},
		&clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: "global"}, Spec: clusterv1beta2.ManagedClusterSetSpec{
			ClusterSelector: clusterv1beta2.ManagedClusterSelector{SelectorType: clusterv1beta2.LabelSelector, LabelSelector: &metav1.LabelSelector{}}}},
		&clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: "nothing"}, Spec: clusterv1beta2.ManagedClusterSetSpec{
			ClusterSelector: clusterv1beta2.ManagedClusterSelector{SelectorType: clusterv1beta2.LabelSelector}}})
	f.put(addOnsPath, addOn("cluster1", isAvailable, isSynced),
		addOn("cluster2", isAvailable, condition("ConfigMapsSynced", "False", "Conflict", "11 of 12 ConfigMaps synced; conflict: settings", 26*time.Hour)),
		addOn("cluster3", condition("Available", "Unknown", "ManagedClusterLeaseUpdateStopped", "stopped", 3*time.Hour),
			condition("ConfigMapsSynced", "Unknown", "AgentSilent", "the agent is silent (Available is Unknown: stopped); its last report: 3 of 3 ConfigMaps synced", 3*time.Hour)),
		addOn("cluster4", isAvailable, isSynced), addOn("cluster6", isAvailable, isSynced))
	other := addOn("cluster5", isAvailable)
	other.Name = "other"
	f.put(addOnsPath, other)
	f.put(mirrorsPath, mirror("cluster1", 3, 3), mirror("cluster2", 12, 11, v1alpha1.MirroredConfigMap{Name: "settings", State: v1alpha1.MirrorConflict,
		Message: "the ConfigMap default/settings is not a copy", Since: ago(5 * time.Minute)}), mirror("cluster4", 3, 3))
	f.put(worksPath, work(t, "cluster1", image, true), work(t, "cluster2", image, true), work(t, "cluster3", image, true),
		work(t, "cluster4", strings.Replace(image, "v0.1.0", "v0.2.0", 1), false))
	return f
}
