package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonfake "open-cluster-management.io/api/client/addon/clientset/versioned/fake"
	workfake "open-cluster-management.io/api/client/work/clientset/versioned/fake"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/manifests"
)

// TestEnable: all controllers together enable the add-on on many clusters with few
// requests, and without conflicts between themselves, though their cache is behind.
func TestEnable(t *testing.T) {
	const (
		clusters = 200
		// most is, for each cluster: create the RoleBinding, the ManifestWork and the
		// ConfigMapMirror; write the registration, the finalizer, ManifestApplied, and Degraded
		// of the ManagedClusterAddOn. With a certificate and a configuration there are three
		// more, 10 together.
		most = 7
	)
	c := emptyHub(func(*addonfake.Clientset) {})
	hub := &versionedHub{addons: c.addon.(*addonfake.Clientset), works: c.work.(*workfake.Clientset)}
	hub.serve(t)
	serveMirrors(c, func(types.UID) {})
	for n := range clusters {
		name := fmt.Sprintf("cluster-%d", n)
		addOn := hubobjects.AddOn(name, "")
		addOn.UID, addOn.ResourceVersion = types.UID(name), hub.next()
		addOn.OwnerReferences = []metav1.OwnerReference{{APIVersion: addonv1beta1.GroupVersion.String(), Kind: "ClusterManagementAddOn", Name: manifests.AddonName}}
		for _, err := range []error{
			c.cluster.(clienttesting.FakeClient).Tracker().Add(hubobjects.Cluster(name)),
			hub.addons.Tracker().Add(addOn),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- runAddon(ctx, c, &Options{AgentImage: "image"}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return hub.enabled(ctx, t) == clusters, nil
	})
	if err != nil {
		t.Fatalf("the add-on is enabled on %d of %d clusters: %v", hub.enabled(ctx, t), clusters, err)
	}
	requests := map[string]int{}
	total := 0
	for _, client := range []clienttesting.FakeClient{c.kube.(clienttesting.FakeClient), hub.addons, hub.works, c.dynamic.(clienttesting.FakeClient)} {
		for _, action := range client.(interface{ Actions() []clienttesting.Action }).Actions() {
			if verb := action.GetVerb(); verb != "list" && verb != "watch" {
				total++
				requests[verb+" "+action.GetResource().Resource+"/"+action.GetSubresource()]++
			}
		}
	}
	if total > most*clusters+clusters/10 {
		t.Errorf("%d requests for %d clusters, want at most %d each: %v", total, clusters, most, requests)
	}
	if n := hub.conflicted(); n > 0 {
		t.Errorf("%d conflicts between the controllers", n)
	}
}

// versionedHub makes fake clients keep resourceVersions, and refuse a write of a former one, as an
// API server does. Its watches are late. It plays the work agents.
type versionedHub struct {
	addons *addonfake.Clientset
	works  *workfake.Clientset

	mu        sync.Mutex
	version   int
	conflicts int
}

func (h *versionedHub) next() string {
	h.version++
	return strconv.Itoa(h.version)
}

func (h *versionedHub) conflicted() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.conflicts
}

func (h *versionedHub) serve(t *testing.T) {
	t.Helper()
	h.addons.PrependReactor("patch", "managedclusteraddons", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch := action.(clienttesting.PatchAction)
		if patch.GetPatchType() == types.JSONPatchType {
			return h.write(action, patch.GetName(), func(object map[string]any) map[string]any { return applyOperations(t, object, patch.GetPatch()) })
		}
		var content map[string]any
		if err := json.Unmarshal(patch.GetPatch(), &content); err != nil {
			return true, nil, err
		}
		return h.write(action, patch.GetName(), func(object map[string]any) map[string]any { return merge(object, content) })
	})
	h.addons.PrependReactor("update", "managedclusteraddons", func(action clienttesting.Action) (bool, runtime.Object, error) {
		updated := action.(clienttesting.UpdateAction).GetObject()
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(updated)
		if err != nil {
			return true, nil, err
		}
		return h.write(action, updated.(metav1.Object).GetName(), func(map[string]any) map[string]any { return content })
	})
	h.addons.PrependWatchReactor("managedclusteraddons", func(action clienttesting.Action) (bool, watch.Interface, error) {
		watcher, err := h.addons.Tracker().Watch(action.GetResource(), action.GetNamespace())
		if err != nil {
			return true, nil, err
		}
		t.Cleanup(watcher.Stop)
		// The tracker panics when a watcher's buffer of 100 events is full.
		events := make(chan watch.Event, 1<<16)
		go func() {
			defer close(events)
			for event := range watcher.ResultChan() {
				events <- event
			}
		}()
		return true, watch.Filter(watch.NewProxyWatcher(events), func(event watch.Event) (watch.Event, bool) {
			time.Sleep(2 * time.Millisecond)
			return event, true
		}), nil
	})
	h.works.PrependReactor("create", "manifestworks", func(action clienttesting.Action) (bool, runtime.Object, error) {
		work := action.(clienttesting.CreateAction).GetObject().(*workv1.ManifestWork)
		reported := hubobjects.AgentWork("", hubobjects.With(hubobjects.RolledOut(), "configHash", nil))
		work.Generation, work.Status = reported.Generation, reported.Status
		return false, nil, nil
	})
}

// write changes an add-on, unless the change is for a former version.
func (h *versionedHub) write(action clienttesting.Action, name string, change func(map[string]any) map[string]any) (bool, runtime.Object, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	time.Sleep(time.Millisecond) // the watchers read on
	tracker := h.addons.Tracker()
	live, err := tracker.Get(action.GetResource(), action.GetNamespace(), name)
	if err != nil {
		return true, nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return true, nil, err
	}
	var changed addonv1beta1.ManagedClusterAddOn
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(change(content), &changed); err != nil {
		return true, nil, err
	}
	if changed.ResourceVersion != live.(metav1.Object).GetResourceVersion() {
		h.conflicts++
		return true, nil, apierrors.NewConflict(action.GetResource().GroupResource(), name, errors.New("the object has been modified"))
	}
	changed.ResourceVersion = h.next()
	return true, &changed, tracker.Update(action.GetResource(), &changed, action.GetNamespace())
}

// merge applies a JSON merge patch.
func merge(object, patch map[string]any) map[string]any {
	merged := make(map[string]any, len(object))
	for key, value := range object {
		merged[key] = value
	}
	for key, value := range patch {
		inner, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(merged, key)
		case isObject:
			former, _ := merged[key].(map[string]any)
			merged[key] = merge(former, inner)
		default:
			merged[key] = value
		}
	}
	return merged
}

// applyOperations applies a JSON patch.
func applyOperations(t *testing.T, object map[string]any, patch []byte) map[string]any {
	operations, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Error(err)
	}
	before, err := json.Marshal(object)
	if err != nil {
		t.Error(err)
	}
	after, err := operations.Apply(before)
	if err != nil {
		t.Errorf("apply %s: %v", patch, err)
	}
	var applied map[string]any
	if err := json.Unmarshal(after, &applied); err != nil {
		t.Error(err)
	}
	return applied
}

// enabled returns the number of clusters on which the add-on has all that the controllers
// write.
func (h *versionedHub) enabled(ctx context.Context, t *testing.T) int {
	t.Helper()
	version := schema.GroupVersion{Group: addonv1beta1.GroupName, Version: addonv1beta1.GroupVersion.Version}
	found, err := h.addons.Tracker().List(version.WithResource("managedclusteraddons"), version.WithKind("ManagedClusterAddOn"), "")
	if err != nil || ctx.Err() != nil {
		t.Fatal(err, ctx.Err())
	}
	n := 0
	for _, addOn := range found.(*addonv1beta1.ManagedClusterAddOnList).Items {
		conditions := addOn.Status.Conditions
		if len(addOn.Finalizers) > 0 && len(addOn.Status.Registrations) > 0 &&
			meta.IsStatusConditionTrue(conditions, addonv1beta1.ManagedClusterAddOnManifestApplied) &&
			meta.IsStatusConditionFalse(conditions, addonv1beta1.ManagedClusterAddOnConditionDegraded) {
			n++
		}
	}
	return n
}
