package steps

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"open-cluster-management.io/helloworld-addon/test/fleet/members"
)

// The kinds of the hub that are followed. v1alpha1 is the version of the add-on API that OCM
// stores, so it needs no conversion.
var (
	addOns        = schema.GroupVersionResource{Group: "addon.open-cluster-management.io", Version: "v1alpha1", Resource: "managedclusteraddons"}
	managements   = schema.GroupVersionResource{Group: "addon.open-cluster-management.io", Version: "v1alpha1", Resource: "clustermanagementaddons"}
	configs       = schema.GroupVersionResource{Group: "addon.open-cluster-management.io", Version: "v1alpha1", Resource: "addondeploymentconfigs"}
	works         = schema.GroupVersionResource{Group: "work.open-cluster-management.io", Version: "v1", Resource: "manifestworks"}
	csrs          = schema.GroupVersionResource{Group: "certificates.k8s.io", Version: "v1", Resource: "certificatesigningrequests"}
	clusters      = schema.GroupVersionResource{Group: "cluster.open-cluster-management.io", Version: "v1", Resource: "managedclusters"}
	decisionLists = schema.GroupVersionResource{Group: "cluster.open-cluster-management.io", Version: "v1beta1", Resource: "placementdecisions"}
)

// The add-on, and the name of its ManifestWorks without their number.
const (
	addOnName  = "helloworld"
	workPrefix = "addon-helloworld-deploy"
)

// The events on the board.
const (
	configured   = "Configured"
	shipped      = "ManifestWork"
	approved     = "certificate"
	available    = "Available"
	renewedAddOn = "renewed certificate of the add-on"
	renewedOCM   = "renewed certificate of the cluster"
)

// copied is the event of a copy with a mark, withCPU and withImage are those of a ManifestWork
// whose agent has that request, or that image.
func copied(name, mark string) string { return "copy of " + name + " with " + mark }
func withCPU(cpu string) string       { return "CPU request " + cpu }
func withImage(image string) string   { return "image " + image }

// renewal is since when a certificate is a renewed one.
type renewal struct {
	mu    sync.Mutex
	since time.Time
}

func (r *renewal) begin(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since = at
}

// is reports whether a request was made after the begin. Creation times are in seconds.
func (r *renewal) is(created time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.since.IsZero() && created.After(r.since)
}

// follow watches the hub and the clusters, and returns what is done when all watches have begun.
func (f *Fleet) follow(ctx context.Context, group *errgroup.Group) *sync.WaitGroup {
	synced := &sync.WaitGroup{}
	for _, w := range []struct {
		resource schema.GroupVersionResource
		selector string
		seen     func(*unstructured.Unstructured)
	}{
		{addOns, "metadata.name=" + addOnName, f.seenAddOn}, {works, "", f.seenWork}, {csrs, "", f.seenRequest},
	} {
		synced.Add(1)
		first := sync.OnceFunc(synced.Done)
		group.Go(func() error {
			watchAll(ctx, f.dynamic, w.resource, w.selector, w.seen, first)
			return nil
		})
	}
	synced.Add(1)
	first := sync.OnceFunc(synced.Done)
	group.Go(func() error {
		err := f.members.Watch(ctx, first, f.seenCopy)
		if ctx.Err() != nil {
			return nil
		}
		return err
	})
	return synced
}

// watchAll calls seen for every object of the resource that is there or changes. It keeps none, and
// begins anew when the API server restarts.
func watchAll(ctx context.Context, hub dynamic.Interface, resource schema.GroupVersionResource, selector string, seen func(*unstructured.Unstructured), synced func()) {
	client := hub.Resource(resource)
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = selector
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = selector
			return client.Watch(ctx, options)
		},
	}
	see := func(object any) error {
		if object, ok := object.(*unstructured.Unstructured); ok {
			seen(object)
		}
		return nil
	}
	ignore := func(any) error { return nil }
	store := &cache.FakeCustomStore{AddFunc: see, UpdateFunc: see, DeleteFunc: ignore,
		ReplaceFunc: func(all []any, _ string) error {
			for _, object := range all {
				_ = see(object)
			}
			synced()
			return nil
		}}
	cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(source, hub), &unstructured.Unstructured{}, store,
		cache.ReflectorOptions{Name: resource.Resource}).RunWithContext(ctx)
}

func (f *Fleet) seenAddOn(object *unstructured.Unstructured) {
	now := time.Now()
	for _, event := range []string{configured, available} {
		if isTrue(object, event) {
			f.board.Mark(event, object.GetNamespace(), now)
		}
	}
}

func (f *Fleet) seenWork(object *unstructured.Unstructured) {
	if !strings.HasPrefix(object.GetName(), workPrefix) {
		return
	}
	now, cluster := time.Now(), object.GetNamespace()
	f.board.Mark(shipped, cluster, now)
	for _, c := range containersOf(object) {
		f.board.Mark(withCPU(c.cpu), cluster, now)
		f.board.Mark(withImage(c.image), cluster, now)
	}
}

func (f *Fleet) seenRequest(object *unstructured.Unstructured) {
	cluster := object.GetLabels()["open-cluster-management.io/cluster-name"]
	if cluster == "" || !isTrue(object, "Approved") {
		return
	}
	now, event := time.Now(), renewedOCM
	if object.GetLabels()["open-cluster-management.io/addon-name"] == addOnName {
		event = renewedAddOn
		f.board.Mark(approved, cluster, now)
	}
	if f.renewal.is(object.GetCreationTimestamp().Time) {
		f.board.Mark(event, cluster, now)
	}
}

// markKey holds the mark by which a state of a ConfigMap is recognized.
const markKey = "mark"

func (f *Fleet) seenCopy(event members.Event) {
	if event.Type != "DELETED" {
		f.board.Mark(copied(event.Object.Name, event.Object.Data[markKey]), event.Cluster, event.Time)
	}
}

// isTrue reports whether the object has the condition, and it is true.
func isTrue(object *unstructured.Unstructured, name string) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, ok := c.(map[string]any)
		return ok && condition["type"] == name && condition["status"] == "True"
	})
}

// shippedContainer is what a configuration sets of an agent.
type shippedContainer struct{ image, cpu string }

// containersOf returns the first containers of the Deployments in a ManifestWork.
func containersOf(work *unstructured.Unstructured) []shippedContainer {
	var found []shippedContainer
	manifests, _, _ := unstructured.NestedSlice(work.Object, "spec", "workload", "manifests")
	for _, manifest := range manifests {
		object, ok := manifest.(map[string]any)
		if !ok || object["kind"] != "Deployment" {
			continue
		}
		containers, _, _ := unstructured.NestedSlice(object, "spec", "template", "spec", "containers")
		if len(containers) == 0 {
			continue
		}
		container, ok := containers[0].(map[string]any)
		if !ok {
			continue
		}
		image, _, _ := unstructured.NestedString(container, "image")
		cpu, _, _ := unstructured.NestedString(container, "resources", "requests", "cpu")
		found = append(found, shippedContainer{image, cpu})
	}
	return found
}

// decode turns JSON into an object, for tests and for what a step creates.
func decode(text string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &object.Object); err != nil {
		return nil, fmt.Errorf("decode an object: %w", err)
	}
	return object, nil
}
