package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	workfake "open-cluster-management.io/api/client/work/clientset/versioned/fake"
	worklisters "open-cluster-management.io/api/client/work/listers/work/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// TestHeldWorks: OCM must not take a cluster for done before its agent runs.
func TestHeldWorks(t *testing.T) {
	existing := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: "work",
		Annotations: map[string]string{workv1.ManifestConfigSpecHashAnnotationKey: "old"}}}
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	if err := indexer.Add(existing); err != nil {
		t.Fatal(err)
	}
	client := workfake.NewSimpleClientset(existing)
	works := heldWorks{client, worklisters.NewManifestWorkLister(indexer)}.WorkV1().ManifestWorks("cluster1")
	patch := func(body string) *workv1.ManifestWork {
		t.Helper()
		work, err := works.Patch(t.Context(), "work", types.MergePatchType, []byte(body), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return work
	}

	created, err := works.Create(t.Context(), &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: "new",
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
