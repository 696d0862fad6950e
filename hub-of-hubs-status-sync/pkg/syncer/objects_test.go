package syncer

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer/plan"
)

// TestObjects: the indexes follow the watch, and own writes are not reported.
func TestObjects(t *testing.T) {
	var told []string
	o := newObjects(func(one plan.Object, cameOrWent bool) {
		text := one.Name
		if cameOrWent {
			text += "!"
		}
		told = append(told, text)
	})
	object := func(version string, owner types.UID) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", UID: "u", ResourceVersion: version,
			OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: ptr.To(true)}}}}
	}
	o.set(object("1", "owner"))
	o.learn("u", "2", "digest")
	o.set(object("2", "other"))
	o.set(object("3", "other"))
	if len(o.owned("owner")) != 0 || len(o.owned("other")) != 1 {
		t.Errorf("owned by the old owner %v, by the new one %v", o.owned("owner"), o.owned("other"))
	}
	if one, found := o.named("ns", "x"); !found || o.digest(one) != "" {
		t.Errorf("at a version that was not written, found %v, known %q", found, o.digest(one))
	}
	o.unset(object("3", "other"))
	if _, found := o.get("u"); found || len(o.owned("other")) != 0 || len(o.known)+len(o.byName)+len(o.byOwner) != 0 {
		t.Error("something is left of an object that went")
	}
	o.unset(object("3", "other"))
	if want := []string{"x!", "x", "x!"}; len(told) != len(want) || told[0] != want[0] || told[1] != want[1] || told[2] != want[2] {
		t.Errorf("told %v", told)
	}
}

// TestDeletedAndCreatedBetweenLists: a watch that breaks sees of an object that was
// deleted and made anew only that it is another one. Nothing of the first is left.
func TestDeletedAndCreatedBetweenLists(t *testing.T) {
	var told []string
	o := newObjects(func(one plan.Object, cameOrWent bool) {
		if cameOrWent {
			told = append(told, string(one.UID))
		}
	})
	one := func(uid types.UID) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", UID: uid, ResourceVersion: string(uid)}}
	}
	o.handler().OnAdd(one("1"), true)
	o.learn("1", "1", "digest")
	o.handler().OnUpdate(one("1"), one("2"))
	if _, found := o.get("1"); found || len(o.byUID) != 1 || len(o.known) != 0 {
		t.Errorf("the first one is left: %v, known %v", o.byUID, o.known)
	}
	if now, found := o.named("ns", "x"); !found || now.UID != "2" {
		t.Errorf("the name is that of %v", now)
	}
	slices.Sort(told)
	if diff := cmp.Diff([]string{"1", "1", "2"}, told); diff != "" {
		t.Errorf("came or went (-want +got):\n%s", diff)
	}
}

// TestControllerOwns: an object belongs to the Placement that is its controller, as
// in objects of the original sync. An owner reference without controller does not
// count.
func TestControllerOwns(t *testing.T) {
	var told []status.Key
	k := newKindSyncer(kindEntry(t, status.KindPlacementDecision), newTestKeys(t, clock.RealClock{}, status.KindPlacementDecision), kindSyncer{})
	owned := func(name string, references ...metav1.OwnerReference) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name),
			ResourceVersion: "1", OwnerReferences: references}}
	}
	k.objects.changed = func(o plan.Object, _ bool) {
		if key, found := k.keyOf(o); found {
			told = append(told, key)
		}
	}
	k.owners.set(owned("placement"))
	k.objects.set(owned("ours", metav1.OwnerReference{UID: "other"}, metav1.OwnerReference{UID: "placement", Controller: ptr.To(true)}))
	k.objects.set(owned("goes-with-it", metav1.OwnerReference{UID: "placement"}, metav1.OwnerReference{UID: "other", Controller: ptr.To(true)}))
	k.objects.set(owned("without-controller", metav1.OwnerReference{UID: "placement"}))
	owner, all, found := k.present(status.Key{Kind: status.KindPlacementDecision, ID: "placement"})
	if !found || len(all) != 1 || all[0].Name != "ours" {
		t.Errorf("found %v, owned %v", found, all)
	}
	if other, _ := k.objects.named("ns", "without-controller"); k.owns(owner, other) {
		t.Error("an object without a controller is taken for one that the syncer made")
	}
	if diff := cmp.Diff([]status.Key{{Kind: status.KindPlacementDecision, ID: "placement"}, {Kind: status.KindPlacementDecision, ID: "other"}}, told); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func kindEntry(t *testing.T, kind status.Kind) status.Entry {
	t.Helper()
	for _, entry := range status.Entries() {
		if entry.Kind == kind {
			return entry
		}
	}
	t.Fatalf("no entry of %s", kind)
	return status.Entry{}
}

// TestRoundLooksAtOrphans: an object without an owner is looked at in every round,
// also when nothing in the database leads to it, as after a TRUNCATE; the others are
// the scan's matter.
func TestRoundLooksAtOrphans(t *testing.T) {
	for _, entry := range status.Entries() {
		k := newKindSyncer(entry, newTestKeys(t, clock.RealClock{}, entry.Kind), kindSyncer{})
		k.objects.set(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "helloworld", UID: "u", ResourceVersion: "1"}})
		for k.queue.Len() > 0 {
			key, _ := k.queue.Get()
			k.queue.begin(key)
			k.queue.Done(key)
		}
		k.requestOrphans()
		var keys []status.Key
		for k.queue.Len() > 0 {
			key, _ := k.queue.Get()
			if k.queue.begin(key).Cause >= plan.ReadRows {
				keys = append(keys, key)
			}
			k.queue.Done(key)
		}
		var want []status.Key
		if entry.Kind == status.KindAddOnSummary {
			want = []status.Key{{Kind: status.KindAddOnSummary, ID: "helloworld"}}
		}
		if diff := cmp.Diff(want, keys); diff != "" {
			t.Errorf("%s (-want +got):\n%s", entry.Kind, diff)
		}
	}
}
