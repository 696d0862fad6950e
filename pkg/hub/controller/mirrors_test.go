package controller

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonfake "open-cluster-management.io/api/client/addon/clientset/versioned/fake"
	addonlisters "open-cluster-management.io/api/client/addon/listers/addon/v1beta1"

	"open-cluster-management.io/sdk-go/pkg/basecontroller/factory"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
	"open-cluster-management.io/helloworld-addon/manifests"
)

func TestMirrorFor(t *testing.T) {
	addOn := hubobjects.AddOn("cluster1", "")
	addOn.UID = "uid-1"
	deleted := addOn.DeepCopy()
	now := metav1.Now()
	deleted.DeletionTimestamp = &now
	for _, test := range []struct {
		name, reason string
		addOn        *addonv1beta1.ManagedClusterAddOn
		exists       bool
		want         bool
	}{
		{"enabled", "the agent reports in it", addOn, false, true},
		{"it is there", "it is never changed, whoever's it is", addOn, true, false},
		{"not enabled", "no agent would report", nil, false, false},
		{"being deleted", "the agent is removed", deleted, false, false},
		{"not enabled any more", "the garbage collector deletes it", nil, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := mirrorFor(test.addOn, test.exists)
			if (got != nil) != test.want {
				t.Fatalf("created: %t, want %t: %s", got != nil, test.want, test.reason)
			}
			if got == nil {
				return
			}
			var mirror v1alpha1.ConfigMapMirror
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(got.Object, &mirror); err != nil {
				t.Fatal(err)
			}
			want := v1alpha1.ConfigMapMirror{
				TypeMeta: metav1.TypeMeta{APIVersion: "helloworld.open-cluster-management.io/v1alpha1", Kind: "ConfigMapMirror"},
				ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: "helloworld",
					Labels: map[string]string{"app.kubernetes.io/part-of": "helloworld-addon"},
					OwnerReferences: []metav1.OwnerReference{{APIVersion: "addon.open-cluster-management.io/v1beta1",
						Kind: "ManagedClusterAddOn", Name: "helloworld", UID: "uid-1"}}}}
			if diff := cmp.Diff(want, mirror); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestMirrorCreation: which answers of the API server make the creator try again.
func TestMirrorCreation(t *testing.T) {
	terminating := apierrors.NewForbidden(mirrorResource.GroupResource(), "helloworld", errors.New("the namespace goes"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, test := range map[string]struct {
		err   error
		again bool
		// atOnce is how often it is created when the add-on changes before the cache shows it.
		atOnce int
	}{
		"created":                     {nil, false, 0},
		"there, the cache is behind":  {apierrors.NewAlreadyExists(mirrorResource.GroupResource(), "helloworld"), false, 0},
		"the namespace is going":      {terminating, false, 1},
		"no right":                    {apierrors.NewForbidden(mirrorResource.GroupResource(), "helloworld", nil), true, 1},
		"the CRD is missing":          {apierrors.NewNotFound(mirrorResource.GroupResource(), "helloworld"), true, 1},
		"the API server does not run": {errors.New("connection refused"), true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c, creates, now := emptyHub(nothing), 0, clocktesting.NewFakeClock(time.Unix(1000, 0))
			addOns := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
			if err := addOns.Add(hubobjects.AddOn("cluster1", "")); err != nil {
				t.Fatal(err)
			}
			c.dynamic.(clienttesting.FakeClient).PrependReactor("create", "configmapmirrors",
				func(clienttesting.Action) (bool, runtime.Object, error) {
					creates++
					return true, &unstructured.Unstructured{}, test.err
				})
			creator := &mirrorCreator{client: c.dynamic, addOns: addonlisters.NewManagedClusterAddOnLister(addOns),
				mirrors: cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil), clock: now, created: map[string]creation{}}
			err := creator.sync(t.Context(), factory.NewSyncContext("test"), "cluster1")
			if (err != nil) != test.again {
				t.Errorf("error %v, tried again: want %t", err, test.again)
			}
			for _, step := range []struct {
				after   time.Duration
				creates int
			}{{0, test.atOnce}, {cacheLag - time.Nanosecond, test.atOnce}, {time.Nanosecond, 1}} {
				now.Step(step.after)
				creates = 0
				_ = creator.sync(t.Context(), factory.NewSyncContext("test"), "cluster1")
				if creates != step.creates {
					t.Errorf("after another %s it is created %d times, want %d", step.after, creates, step.creates)
				}
			}
		})
	}
}

// TestDeletedMirror: the object of an add-on is created at most once in cacheLag. The cache may show an add-on that
// was deleted, and the garbage collector deletes its object.
func TestDeletedMirror(t *testing.T) {
	c, mirrors := emptyHub(nothing), cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	addOns := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	creates, now := 0, clocktesting.NewFakeClock(time.Unix(1000, 0))
	c.dynamic.(clienttesting.FakeClient).PrependReactor("create", "configmapmirrors", func(clienttesting.Action) (bool, runtime.Object, error) {
		creates++
		return true, &unstructured.Unstructured{}, nil
	})
	creator := &mirrorCreator{client: c.dynamic, addOns: addonlisters.NewManagedClusterAddOnLister(addOns), mirrors: mirrors,
		clock: now, created: map[string]creation{}}
	shown := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: manifests.AddonName}}
	former, next := hubobjects.AddOn("cluster1", ""), hubobjects.AddOn("cluster1", "")
	former.UID, next.UID = "former", "next"
	for _, step := range []struct {
		name    string
		change  func() error
		creates int
	}{
		{"enabled", func() error { return addOns.Add(former) }, 1},
		{"shown", func() error { return mirrors.Add(shown) }, 1},
		{"deleted at once", func() error { return mirrors.Delete(shown) }, 1},
		{"some time later", func() error { now.Step(cacheLag); return nil }, 2},
		{"enabled again", func() error { return addOns.Update(next) }, 3},
		{"shown again", func() error { now.Step(cacheLag); return mirrors.Add(shown) }, 3},
		{"deleted by a user", func() error { return mirrors.Delete(shown) }, 4},
	} {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		if err := creator.sync(t.Context(), factory.NewSyncContext("test"), "cluster1"); err != nil {
			t.Fatal(err)
		}
		if creates != step.creates {
			t.Errorf("%s: created %d times, want %d", step.name, creates, step.creates)
		}
	}
	now.Step(cacheLag)
	if creator.lag("cluster1", nil); len(creator.created) != 0 {
		t.Errorf("remembered for ever: %v", creator.created)
	}
}

// TestMirrorComesBack: the creator creates the object when the add-on is enabled, again when
// another client deletes it, and for an add-on that was deleted and created again when the
// garbage collector has deleted the former one.
func TestMirrorComesBack(t *testing.T) {
	c := emptyHub(nothing)
	i := newInformers(c, withLastKnown)
	hub := &mirrorHub{t: t, clients: c, addOnLister: i.addon.Addon().V1beta1().ManagedClusterAddOns().Lister(), created: make(chan types.UID, 10)}
	serveMirrors(c, func(owner types.UID) { hub.created <- owner })
	now := clocktesting.NewFakeClock(time.Unix(1000, 0))
	controller := frameworkController{Controller: newMirrorCreator(c.dynamic, i, now), workers: 1}
	ctx := startInformers(t, i)
	running, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); runFramework(running, []frameworkController{controller}, nil) }()
	t.Cleanup(func() { cancel(); <-ended })

	hub.enable("uid-1")
	hub.expect("enabled", "uid-1")
	now.Step(cacheLag)
	hub.remove()
	hub.expect("deleted by another client", "uid-1")
	hub.disable()
	hub.enable("uid-2")
	hub.expect("the former object is still there")
	hub.remove()
	hub.expect("the garbage collector has deleted it", "uid-2")
	hub.disable()
	hub.remove()
	hub.expect("disabled")
}

func nothing(*addonfake.Clientset) {}

// mirrorHub is a hub with one cluster. created are the owners of the ConfigMapMirrors that were
// created.
type mirrorHub struct {
	t           *testing.T
	clients     *clients
	addOnLister addonlisters.ManagedClusterAddOnLister
	created     chan types.UID
}

// serveMirrors makes the metadata client have what the dynamic client creates, and calls created
// with the owner.
func serveMirrors(c *clients, created func(owner types.UID)) {
	var mu sync.Mutex
	c.dynamic.(clienttesting.FakeClient).PrependReactor("create", "configmapmirrors",
		func(action clienttesting.Action) (bool, runtime.Object, error) {
			object := action.(clienttesting.CreateAction).GetObject().(*unstructured.Unstructured)
			mu.Lock()
			defer mu.Unlock()
			time.Sleep(time.Millisecond) // the watchers read on: the tracker panics when they are 100 events behind
			err := c.metadata.(clienttesting.FakeClient).Tracker().Create(mirrorResource, &metav1.PartialObjectMetadata{
				TypeMeta:   metav1.TypeMeta{APIVersion: object.GetAPIVersion(), Kind: object.GetKind()},
				ObjectMeta: metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName()}}, object.GetNamespace())
			if err == nil {
				created(object.GetOwnerReferences()[0].UID)
			}
			return true, object, err
		})
}

func (h *mirrorHub) addOns() clienttesting.ObjectTracker {
	return h.clients.addon.(clienttesting.FakeClient).Tracker()
}

func (h *mirrorHub) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *mirrorHub) enable(uid types.UID) {
	h.t.Helper()
	addOn := hubobjects.AddOn("cluster1", "")
	addOn.UID = uid
	h.must(h.addOns().Add(addOn))
}

// disable deletes the add-on, and waits until the cache shows that. Otherwise an object might be
// created for the deleted add-on, which the garbage collector would delete.
func (h *mirrorHub) disable() {
	h.t.Helper()
	version := schema.GroupVersion{Group: addonv1beta1.GroupName, Version: addonv1beta1.GroupVersion.Version}
	h.must(h.addOns().Delete(version.WithResource("managedclusteraddons"), "cluster1", manifests.AddonName))
	runtest.Eventually(h.t, "the cache shows it", func() bool {
		_, err := h.addOnLister.ManagedClusterAddOns("cluster1").Get(manifests.AddonName)
		return apierrors.IsNotFound(err)
	})
}

func (h *mirrorHub) remove() {
	h.t.Helper()
	h.must(h.clients.metadata.(clienttesting.FakeClient).Tracker().Delete(mirrorResource, "cluster1", manifests.AddonName))
}

// expect waits for objects with these owners, and that no other one is created.
func (h *mirrorHub) expect(what string, owners ...types.UID) {
	h.t.Helper()
	for _, owner := range owners {
		select {
		case got := <-h.created:
			if got != owner {
				h.t.Fatalf("%s: the owner is %s, want %s", what, got, owner)
			}
		case <-time.After(3 * cacheLag):
			h.t.Fatalf("%s: not created", what)
		}
	}
	select {
	case got := <-h.created:
		h.t.Fatalf("%s: created for %s", what, got)
	case <-time.After(100 * time.Millisecond): // something that must not happen
	}
}
