package turns

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonfake "open-cluster-management.io/api/client/addon/clientset/versioned/fake"
	addonclient "open-cluster-management.io/api/client/addon/clientset/versioned/typed/addon/v1beta1"
	addonlisters "open-cluster-management.io/api/client/addon/listers/addon/v1beta1"
	"open-cluster-management.io/sdk-go/pkg/patcher"
)

// batchWorld is a hub and a cache with the add-on of cluster1 in version 10.
func batchWorld(t *testing.T) (*Turns, *addonfake.Clientset, addonclient.ManagedClusterAddOnInterface) {
	t.Helper()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	if err := indexer.Add(addOn("10")); err != nil {
		t.Fatal(err)
	}
	turns := New(addonlisters.NewManagedClusterAddOnLister(indexer), clocktesting.NewFakeClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)))
	hub := addonfake.NewSimpleClientset(addOn("10"))
	return turns, hub, turns.Client(hub).AddonV1beta1().ManagedClusterAddOns("cluster1")
}

// set adds a condition to the add-on, as a controller of addon-framework does.
func set(t *testing.T, turns *Turns, client addonclient.ManagedClusterAddOnInterface, condition string) {
	t.Helper()
	before, err := turns.Lister().ManagedClusterAddOns("cluster1").Get("helloworld")
	if err != nil {
		t.Fatal(err)
	}
	after := before.DeepCopy()
	meta.SetStatusCondition(&after.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: "Test"})
	writer := patcher.NewPatcher[*addonv1beta1.ManagedClusterAddOn, addonv1beta1.ManagedClusterAddOnSpec, addonv1beta1.ManagedClusterAddOnStatus](client)
	if _, err := writer.PatchStatus(t.Context(), after, after.Status, before.Status); err != nil {
		t.Fatal(err)
	}
}

// TestBatch: what several controllers write in one turn is one request, based on the
// version in the cache, and has all of it.
func TestBatch(t *testing.T) {
	turns, hub, client := batchWorld(t)
	batch := turns.Batch("cluster1")
	set(t, turns, client, "First")
	set(t, turns, client, "Second")
	if len(hub.Actions()) > 0 {
		t.Errorf("before the end of the batch, requests were sent: %v", hub.Actions())
	}
	if err := batch.Flush(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	if len(hub.Actions()) != 1 {
		t.Fatalf("got %d requests, want one: %v", len(hub.Actions()), hub.Actions())
	}
	var sent addonv1beta1.ManagedClusterAddOn
	if err := json.Unmarshal(hub.Actions()[0].(clienttesting.PatchAction).GetPatch(), &sent); err != nil {
		t.Fatal(err)
	}
	got := []string{string(sent.UID), sent.ResourceVersion}
	for _, condition := range sent.Status.Conditions {
		got = append(got, condition.Type)
	}
	if diff := cmp.Diff([]string{"uid", "10", "First", "Second"}, got); diff != "" {
		t.Errorf("the patch has (-want +got):\n%s", diff)
	}
	if !turns.Confirmed("cluster1", "uid") {
		t.Error("the write is not recorded")
	}
}

// TestBatchHoldsOnlyWhatItCan: every other write is sent at once.
func TestBatchHoldsOnlyWhatItCan(t *testing.T) {
	const status = `{"metadata":{"uid":"uid","resourceVersion":"10"},"status":{"namespace":"x"}}`
	tests := []struct {
		name, reason, cluster, patch string
		kind                         types.PatchType
		subresources                 []string
		held                         bool
	}{
		{"the status", "", "cluster1", status, types.MergePatchType, []string{"status"}, true},
		{"another cluster's", "it has no batch", "cluster2", status, types.MergePatchType, []string{"status"}, false},
		{"metadata", "the API server keeps the status", "cluster1", `{"metadata":{"uid":"uid","resourceVersion":"10"}}`, types.MergePatchType, nil, false},
		{"of another version", "the API server refuses it", "cluster1", `{"metadata":{"resourceVersion":"9"}}`, types.MergePatchType, []string{"status"}, false},
		{"of a former add-on", "the API server refuses it", "cluster1", `{"metadata":{"uid":"former"}}`, types.MergePatchType, []string{"status"}, false},
		{"a JSON patch", "no controller sends one", "cluster1", `[]`, types.JSONPatchType, []string{"status"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			turns, hub, _ := batchWorld(t)
			turns.Batch("cluster1")
			_, _ = turns.Client(hub).AddonV1beta1().ManagedClusterAddOns(test.cluster).Patch(t.Context(), "helloworld", test.kind, []byte(test.patch),
				metav1.PatchOptions{}, test.subresources...)
			if held := len(hub.Actions()) == 0; held != test.held {
				t.Errorf("held back: %t, want %t: %s", held, test.held, test.reason)
			}
		})
	}
}

// TestBatchEnds: nothing is held back after the end, and an empty batch sends nothing.
func TestBatchEnds(t *testing.T) {
	turns, hub, client := batchWorld(t)
	if err := turns.Batch("cluster1").Flush(t.Context(), client); err != nil || len(hub.Actions()) > 0 {
		t.Errorf("an empty batch sent %v: %v", hub.Actions(), err)
	}
	set(t, turns, client, "Later")
	if len(hub.Actions()) != 1 || len(turns.batches) > 0 {
		t.Errorf("after the batch: %d requests, want one; batches: %v", len(hub.Actions()), turns.batches)
	}
}
