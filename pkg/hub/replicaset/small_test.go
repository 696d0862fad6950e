package replicaset

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/plan"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
)

// TestSlimDelivered: a plan reads from the cache what it would read from the ConfigMap.
func TestSlimDelivered(t *testing.T) {
	yes := true
	marked := metav1.ObjectMeta{Namespace: "cluster1", Name: "settings", UID: "u", ResourceVersion: "7", DeletionTimestamp: &metav1.Time{},
		Labels: map[string]string{manifests.ManagedByLabel: manifests.ManagedByReplicaSet, manifests.ReplicaSetUIDLabel: "s"},
		Annotations: map[string]string{manifests.ReplicaSetAnnotation: "team-a/settings", manifests.RevisionAnnotation: "r1",
			manifests.RevisionSinceAnnotation: "2026-11-23T12:00:00Z"}}
	invalid := *marked.DeepCopy()
	invalid.Annotations[manifests.RevisionSinceAnnotation] = "yesterday"
	for _, configMap := range []*corev1.ConfigMap{
		{ObjectMeta: marked, Data: map[string]string{"a": "1"}, Immutable: &yes},
		{ObjectMeta: invalid},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "c", Name: "m", Labels: map[string]string{manifests.ReplicaSetUIDLabel: ""}}},
	} {
		slim, err := slimDelivered(configMap)
		if err != nil {
			t.Fatal(err)
		}
		delivered, ok := slim.(*deliveredObject)
		if !ok {
			t.Fatalf("got a %T", slim)
		}
		if diff := cmp.Diff(plan.NewObject(configMap, render.ContentOf(configMap).Sum()), delivered.object()); diff != "" {
			t.Errorf("object (-want +got):\n%s", diff)
		}
		accessor, err := meta.Accessor(slim)
		if err != nil || keyOf(accessor) != keyOf(configMap) || accessor.GetResourceVersion() != configMap.ResourceVersion {
			t.Errorf("the informer sees %+v: %v", accessor, err)
		}
		if again, err := slimDelivered(slim); err != nil || again != slim {
			t.Errorf("transformed again: %v, %v", again, err)
		}
	}
}

// TestDeliveredInformer: an informer takes the small form through a list, a watch and a deletion.
func TestDeliveredInformer(t *testing.T) {
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: "listed", Labels: map[string]string{manifests.ReplicaSetUIDLabel: "s"}}}
	hub := fake.NewClientset(configMap)
	client := hub.CoreV1().ConfigMaps("cluster1")
	// The fake server does not stream a list, and tells the reflector so.
	delivered := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return client.List(ctx, o) },
		WatchFuncWithContext: client.Watch,
	}, hub), &corev1.ConfigMap{}, 0, cache.Indexers{byUID: setUIDOf})
	if err := delivered.SetTransform(slimDelivered); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var informer sync.WaitGroup
	informer.Go(func() { delivered.RunWithContext(ctx) })
	defer informer.Wait()
	defer cancel()
	shows := func(want string) {
		t.Helper()
		err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
			got := ""
			for _, delivered := range list[*deliveredObject](delivered, byUID, "s") {
				got += delivered.object().Name
			}
			return got == want, nil
		})
		if err != nil {
			t.Fatalf("the cache does not show %q: %v", want, err)
		}
	}
	shows("listed")
	if err := client.Delete(ctx, "listed", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	shows("")
	configMap.Name = "watched"
	if _, err := client.Create(ctx, configMap, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	shows("watched")
}

// TestMirrors: a set reads the reports about its revisions, and is planned when one of them has changed.
func TestMirrors(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC))
	f := newFleet(t, 1, 3)
	var keys []types.NamespacedName
	var entries []v1alpha1.MirroredConfigMap
	var revisions []string
	for _, name := range []string{"settings-00", "settings-01", "settings-02"} {
		set := get[*v1alpha1.ConfigMapReplicaSet](f.caches.sets, "team", name)
		keys, revisions = append(keys, keyOf(set)), append(revisions, set.Status.UpdatedRevision)
		entries = append(entries, v1alpha1.MirroredConfigMap{Name: set.Spec.ConfigMaps[0].Name, Revision: set.Status.UpdatedRevision,
			State: v1alpha1.MirrorSynced, Since: at})
	}
	mirrorOf := func(entries ...v1alpha1.MirroredConfigMap) *mirrorObject {
		slim, err := slimMirror(&v1alpha1.ConfigMapMirror{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster0000", Name: manifests.AddonName},
			Status: &v1alpha1.ConfigMapMirrorStatus{ConfigMaps: append(entries, v1alpha1.MirroredConfigMap{Name: "plain", State: v1alpha1.MirrorFailed})}})
		if err != nil {
			t.Fatal(err)
		}
		return slim.(*mirrorObject) //nolint:forcetypeassert // it is one, or the test fails
	}
	before := mirrorOf(entries...)
	failed := entries[1]
	failed.State, failed.Message = v1alpha1.MirrorFailed, "forbidden"
	now := mirrorOf(entries[0], failed)
	if diff := cmp.Diff([]v1alpha1.MirroredConfigMap{failed}, now.of(map[string]bool{revisions[1]: true})); diff != "" {
		t.Errorf("reports about the second revision (-want +got):\n%s", diff)
	}
	for _, test := range []struct {
		name, reason string
		mirror       *mirrorObject
		want         []types.NamespacedName
	}{
		{"all", "each entry names a revision", before, keys},
		{"changed or gone", "the others are as they were", before.without(now), keys[1:]},
		{"changed", "the one that is gone is in the former mirror", now.without(before), keys[1:2]},
		{"nothing", "an idle cluster plans nothing", now.without(now), nil},
	} {
		if diff := cmp.Diff(test.want, f.ofMirror(test.mirror)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", test.name, test.reason, diff)
		}
	}
}

// TestRendered: what is remembered of a cluster is what was rendered, and what is forgotten is read again.
func TestRendered(t *testing.T) {
	f := newFleet(t, 3, 1)
	set := get[*v1alpha1.ConfigMapReplicaSet](f.caches.sets, "team", "settings-00")
	s, revision := f.stateOf(set), set.Status.UpdatedRevision
	for _, name := range f.clusters {
		cluster := f.caches.cluster(name)
		all, err := s.contents.compiled[revision].program.Render(cluster)
		if err != nil {
			t.Fatal(err)
		}
		want := plan.Content{Hashes: map[string]string{"config-00": all[0].Sum()}}
		for range 2 {
			if diff := cmp.Diff(want, s.contents.of(cluster, revision)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
	missing := f.caches.cluster("gone")
	if got := s.contents.of(missing, revision); got.Problem == "" || len(got.Hashes) > 0 {
		t.Errorf("a cluster without the label: %+v", got)
	}
	s.contents.keep([]plan.Revision{{Name: revision, Number: 1}}, map[string]bool{"cluster0001": true})
	if got := s.contents.compiled[revision].rendered; len(got) != 1 || got["cluster0001"].text == "" {
		t.Errorf("after the other clusters left: %v", got)
	}
	if s.contents.desired.data.Raw != nil {
		t.Error("the data of a stored revision is kept")
	}
	s.contents.sources = "settings=7"
	stored := get[*appsv1.ControllerRevision](f.caches.revisions, "team", revisionName(set, revision))
	if err := f.caches.revisions.GetStore().Delete(stored); err != nil {
		t.Fatal(err)
	}
	if err := f.store(t.Context(), s, set, &plan.Revision{Name: revision, Number: 1}); !errors.Is(err, errStale) || s.contents.sources != "" {
		t.Errorf("the stored revision was deleted: %v, want that the sources %q are read again", err, s.contents.sources)
	}
}
