package controller

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonfake "open-cluster-management.io/api/client/addon/clientset/versioned/fake"
	workfake "open-cluster-management.io/api/client/work/clientset/versioned/fake"
	worklisters "open-cluster-management.io/api/client/work/listers/work/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

func TestCreateOwnedWork(t *testing.T) {
	const namespace, name = "cluster1", "helloworld"
	addOn := func(uid types.UID, deleting bool) *addonv1beta1.ManagedClusterAddOn {
		a := &addonv1beta1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid}}
		if deleting {
			now := metav1.Now()
			a.DeletionTimestamp, a.Finalizers = &now, []string{"example.com/hook"}
		}
		return a
	}
	tests := []struct {
		name    string
		reason  string
		owner   *metav1.OwnerReference
		live    *addonv1beta1.ManagedClusterAddOn
		readErr error
		want    string // part of the error; empty: the work is created
	}{
		{name: "the owner is there", owner: ownedBy("ManagedClusterAddOn", name, "1"), live: addOn("1", false), reason: "the normal case"},
		{name: "the owner is being deleted", owner: ownedBy("ManagedClusterAddOn", name, "1"), live: addOn("1", true),
			reason: "the pre-delete hook's work is created just then"},
		{name: "the owner is gone", owner: ownedBy("ManagedClusterAddOn", name, "1"), want: "with uid 1, which is gone: it does not exist",
			reason: "the garbage collector would delete the work at once"},
		{name: "the owner was deleted and created again", owner: ownedBy("ManagedClusterAddOn", name, "1"), live: addOn("2", false),
			want: "it has uid 2 now", reason: "the same, until the cache has the new one"},
		{name: "the owner cannot be read", owner: ownedBy("ManagedClusterAddOn", name, "1"), live: addOn("1", false),
			readErr: errors.New("conversion webhook failed"),
			reason:  "a work that a user deleted is created again, even without the webhook"},
		{name: "no owner", reason: "a work for a hosting cluster has none"},
		{name: "an owner of another kind", owner: ownedBy("Deployment", name, "1"), reason: "not an add-on's work"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			addons, client := addonfake.NewSimpleClientset(), workfake.NewSimpleClientset()
			if test.live != nil {
				if err := addons.Tracker().Add(test.live); err != nil {
					t.Fatal(err)
				}
			}
			if test.readErr != nil {
				addons.PrependReactor("get", "managedclusteraddons", func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, test.readErr
				})
			}
			work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "addon-helloworld-deploy-0"}}
			if test.owner != nil {
				work.OwnerReferences = []metav1.OwnerReference{*test.owner}
			}
			_, err := newWorks(client, addons).WorkV1().ManifestWorks(namespace).Create(t.Context(), work, metav1.CreateOptions{})
			created := exists(t.Context(), client, work)
			switch {
			case test.want == "" && (err != nil || !created):
				t.Errorf("%s: want the work created, got error %v", test.reason, err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%s: want an error with %q, got %v", test.reason, test.want, err)
			case test.want != "" && created:
				t.Errorf("%s: the work was created all the same", test.reason)
			}
		})
	}
}

func ownedBy(kind, name string, uid types.UID) *metav1.OwnerReference {
	controller := true
	return &metav1.OwnerReference{APIVersion: addonv1beta1.GroupVersion.String(), Kind: kind, Name: name, UID: uid, Controller: &controller}
}

func exists(ctx context.Context, client *workfake.Clientset, work *workv1.ManifestWork) bool {
	_, err := client.WorkV1().ManifestWorks(work.Namespace).Get(ctx, work.Name, metav1.GetOptions{})
	return err == nil
}

// newWorks returns the client with an empty cache.
func newWorks(client *workfake.Clientset, addons *addonfake.Clientset) works {
	return works{client, addons.AddonV1beta1(), worklisters.NewManifestWorkLister(cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)), unconfirmed}
}

func unconfirmed(string, types.UID) bool { return false }

// A work of an add-on that the hub has just written needs no further request.
func TestCreateWorkOfAConfirmedOwner(t *testing.T) {
	addons, client := addonfake.NewSimpleClientset(), workfake.NewSimpleClientset()
	checked := newWorks(client, addons)
	checked.confirmed = func(namespace string, uid types.UID) bool { return namespace == "cluster1" && uid == "1" }
	for uid, created := range map[types.UID]bool{"1": true, "2": false} {
		work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: "of-" + string(uid),
			OwnerReferences: []metav1.OwnerReference{*ownedBy("ManagedClusterAddOn", "helloworld", uid)}}}
		_, err := checked.WorkV1().ManifestWorks("cluster1").Create(t.Context(), work, metav1.CreateOptions{})
		if created != (err == nil) {
			t.Errorf("the work of the add-on with uid %s is created: got error %v", uid, err)
		}
	}
	if n := len(addons.Actions()); n != 1 {
		t.Errorf("%d add-ons were read, want only the one with uid 2", n)
	}
}

// TestCreateInOrder: the work agent needs the namespace first.
func TestCreateInOrder(t *testing.T) {
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: "new"}}
	for _, kind := range []string{"Deployment", "Namespace"} {
		work.Spec.Workload.Manifests = append(work.Spec.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(`{"kind":"` + kind + `"}`)}})
	}
	created, err := newWorks(workfake.NewSimpleClientset(), addonfake.NewSimpleClientset()).WorkV1().ManifestWorks("cluster1").Create(t.Context(), work, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if first := string(created.Spec.Workload.Manifests[0].Raw); first != `{"kind":"Namespace"}` {
		t.Errorf("the first object is %s", first)
	}
}

// TestHeldWorks: OCM must not take a cluster for done before its agent runs
// (docs/design.md#rollout).
func TestHeldWorks(t *testing.T) {
	existing := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: "work",
		Annotations: map[string]string{workv1.ManifestConfigSpecHashAnnotationKey: "old"}}}
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	if err := indexer.Add(existing); err != nil {
		t.Fatal(err)
	}
	client := workfake.NewSimpleClientset(existing)
	held := works{client, addonfake.NewSimpleClientset().AddonV1beta1(), worklisters.NewManifestWorkLister(indexer), unconfirmed}.WorkV1().ManifestWorks("cluster1")
	patch := func(body string) *workv1.ManifestWork {
		t.Helper()
		work, err := held.Patch(t.Context(), "work", types.MergePatchType, []byte(body), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return work
	}

	created, err := held.Create(t.Context(), &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: "new",
		Annotations: map[string]string{workv1.ManifestConfigSpecHashAnnotationKey: "new", "other": "1"}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"other": "1"}, created.Annotations); diff != "" {
		t.Errorf("a new work's annotations (-want +got):\n%s", diff)
	}
	client.ClearActions()
	same := patch(`{"metadata":{"uid":"","annotations":{"open-cluster-management.io/config-spec-hash":"new"}}}`)
	if len(client.Actions()) != 0 || same.Name != "work" {
		t.Errorf("a patch of the annotation alone makes the requests %v", client.Actions())
	}
	changed := patch(`{"metadata":{"labels":{"a":"b"},"annotations":{"open-cluster-management.io/config-spec-hash":"new"}}}`)
	if changed.Labels["a"] != "b" || changed.Annotations[workv1.ManifestConfigSpecHashAnnotationKey] != "old" {
		t.Errorf("the rest of a patch makes labels %v and annotations %v", changed.Labels, changed.Annotations)
	}
}
