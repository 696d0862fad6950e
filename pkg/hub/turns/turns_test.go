package turns

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonfake "open-cluster-management.io/api/client/addon/clientset/versioned/fake"
	addonlisters "open-cluster-management.io/api/client/addon/listers/addon/v1beta1"
)

func addOn(version string) *addonv1beta1.ManagedClusterAddOn {
	return &addonv1beta1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: "helloworld", UID: "uid", ResourceVersion: version}}
}

func deleting(version string) *addonv1beta1.ManagedClusterAddOn {
	object, now := addOn(version), metav1.Now()
	object.DeletionTimestamp = &now
	return object
}

// TestTake writes the add-on with version 10, and lets the hub answer.
func TestTake(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "managedclusteraddons"}, "helloworld", errors.New("modified"))
	tests := []struct {
		name, reason string
		answer       *addonv1beta1.ManagedClusterAddOn
		err          error
		cached       string // version; empty: the cache has no such add-on
		after        time.Duration
		want         bool
		confirmed    bool
	}{
		{name: "the cache has not seen the write", answer: addOn("12"), cached: "10", want: false, confirmed: true,
			reason: "a patch of version 10 would be a conflict"},
		{name: "the cache has the write", answer: addOn("12"), cached: "12", want: true, confirmed: true},
		{name: "the cache has a later write", answer: addOn("12"), cached: "100", want: true, confirmed: true, reason: "versions are numbers"},
		{name: "a conflict", err: conflict, cached: "10", want: false, reason: "the same patch would be refused again"},
		{name: "a conflict, and the cache has the other's write", err: conflict, cached: "11", want: true},
		{name: "another error", err: errors.New("broken"), cached: "10", want: true, reason: "nothing is known of the write"},
		{name: "the add-on is gone", answer: addOn("12"), want: true, reason: "there is nothing to wait for", confirmed: false},
		{name: "the cache stays behind", answer: addOn("12"), cached: "10", after: trust, want: true,
			reason: "the hub may have been restored from a backup"},
		{name: "a write that made no version", answer: addOn(""), cached: "10", want: true, confirmed: true, reason: "it cannot be waited for"},
		{name: "the add-on is being deleted", answer: deleting("12"), cached: "12", want: true, reason: "the write may have removed the last finalizer"},
	}
	for _, test := range tests {
		for _, verb := range []string{"patch", "update"} {
			t.Run(test.name+"/"+verb, func(t *testing.T) {
				now := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
				indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
				if test.cached != "" {
					if err := indexer.Add(addOn(test.cached)); err != nil {
						t.Fatal(err)
					}
				}
				turns := New(addonlisters.NewManagedClusterAddOnLister(indexer), now)
				hub := addonfake.NewSimpleClientset()
				hub.PrependReactor(verb, "managedclusteraddons", func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, test.answer, test.err
				})
				client := turns.Client(hub).AddonV1beta1().ManagedClusterAddOns("cluster1")
				if verb == "patch" {
					_, _ = client.Patch(t.Context(), "helloworld", types.MergePatchType, []byte(`{"metadata":{"resourceVersion":"10"}}`), metav1.PatchOptions{}, "status")
				} else {
					_, _ = client.Update(t.Context(), addOn("10"), metav1.UpdateOptions{})
				}
				now.Step(test.after)
				done, ok := turns.Take("cluster1")
				defer done()
				if ok != test.want {
					t.Errorf("got the turn: %t: %s", ok, test.reason)
				}
				if got := turns.Confirmed("cluster1", "uid"); got != test.confirmed {
					t.Errorf("the add-on is confirmed: %t", got)
				}
				if turns.Confirmed("cluster1", "other") {
					t.Error("an add-on with another UID is confirmed")
				}
			})
		}
	}
}

// A cluster has one turn at a time.
func TestTurnsOfOneCluster(t *testing.T) {
	turns := New(addonlisters.NewManagedClusterAddOnLister(cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)), clocktesting.NewFakeClock(time.Now()))
	done, _ := turns.Take("cluster1")
	second := make(chan struct{})
	go func() {
		done, _ := turns.Take("cluster1")
		close(second)
		done()
	}()
	select {
	case <-second:
		t.Fatal("a second turn began during the first")
	case <-time.After(20 * time.Millisecond):
	}
	done()
	<-second
}

// TestWriteOfADeletedAddOn: the hub's answer that the add-on is gone comes before the
// cache has its deletion.
func TestWriteOfADeletedAddOn(t *testing.T) {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	if err := indexer.Add(addOn("10")); err != nil {
		t.Fatal(err)
	}
	turns := New(addonlisters.NewManagedClusterAddOnLister(indexer), clocktesting.NewFakeClock(time.Now()))
	hub := addonfake.NewSimpleClientset(addOn("10"))
	client := turns.Client(hub).AddonV1beta1().ManagedClusterAddOns("cluster1")
	patch := func() error {
		_, err := client.Patch(t.Context(), "helloworld", types.MergePatchType, []byte(`{"metadata":{"resourceVersion":"10"}}`), metav1.PatchOptions{}, "status")
		return err
	}
	if err := patch(); err != nil || !turns.Confirmed("cluster1", "uid") {
		t.Fatalf("the write of an add-on does not confirm it: %v", err)
	}
	if err := hub.AddonV1beta1().ManagedClusterAddOns("cluster1").Delete(t.Context(), "helloworld", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := patch(); !apierrors.IsNotFound(err) {
		t.Fatalf("want not found, got %v", err)
	}
	if turns.Confirmed("cluster1", "uid") {
		t.Error("an add-on that the hub does not have is confirmed")
	}
}
