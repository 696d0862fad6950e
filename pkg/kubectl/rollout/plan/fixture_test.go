package plan

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
)

var start = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// newSet returns a set of generation 2 with these sources, and three clusters that are synced.
func newSet(sources ...string) *v1alpha1.ConfigMapReplicaSet {
	set := &v1alpha1.ConfigMapReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "settings", UID: "set-uid", Generation: 2}}
	for _, name := range sources {
		set.Spec.ConfigMaps = append(set.Spec.ConfigMaps, v1alpha1.ConfigMapReference{Name: name})
	}
	set.Status.ObservedGeneration = 2
	set.Status.Summary = v1alpha1.Summary{Total: 3, Synced: 3}
	return set
}

// condition sets a condition of the set, of its generation.
func condition(set *v1alpha1.ConfigMapReplicaSet, kind string, status metav1.ConditionStatus, reason, message string) {
	set.Status.Conditions = append(set.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message,
		ObservedGeneration: set.Generation})
}

func newSource(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name, UID: "source-uid", ResourceVersion: "7",
		Labels: map[string]string{"team": "a"}}, Data: data}
}

// stored returns the ControllerRevision of a revision, and its hash.
func stored(t *testing.T, set *v1alpha1.ConfigMapReplicaSet, number int64, revision render.Revision) (appsv1.ControllerRevision, string) {
	t.Helper()
	data, hash, err := revision.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: set.Name + "-" + hash, CreationTimestamp: metav1.NewTime(start.Add(time.Duration(number) * time.Hour)),
			Labels:          map[string]string{manifests.RevisionAnnotation: hash},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, v1alpha1.GroupVersion.WithKind("ConfigMapReplicaSet"))}},
		Data: data, Revision: number,
	}, hash
}

// revisionOf returns the revision of sources and values.
func revisionOf(values []v1alpha1.Value, sources ...*corev1.ConfigMap) render.Revision {
	var contents []render.Content
	for _, source := range sources {
		contents = append(contents, render.ContentOf(source))
	}
	return render.NewRevision(contents, values)
}

// kept returns the revision as the hub keeps it.
func kept(t *testing.T, set *v1alpha1.ConfigMapReplicaSet, number int64, revision render.Revision) Revision {
	t.Helper()
	object, _ := stored(t, set, number, revision)
	history := NewHistory(set, []appsv1.ControllerRevision{object})
	if len(history) != 1 || history[0].Problem != "" {
		t.Fatalf("the revision is not usable: %+v", history)
	}
	return history[0]
}

func sourcesOf(all ...*corev1.ConfigMap) Sources {
	sources := Sources{}
	for _, source := range all {
		sources[source.Name] = source
	}
	return sources
}
