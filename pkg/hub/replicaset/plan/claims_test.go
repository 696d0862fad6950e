package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
)

func TestClaims(t *testing.T) {
	another := func(name string, age time.Duration, sources ...string) *v1alpha1.ConfigMapReplicaSet {
		set := &v1alpha1.ConfigMapReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID(name),
			CreationTimestamp: metav1.NewTime(now.Add(-age))}}
		for _, source := range sources {
			set.Spec.ConfigMaps = append(set.Spec.ConfigMaps, v1alpha1.ConfigMapReference{Name: source})
		}
		return set
	}
	deleting := another("deleting", time.Hour, "a")
	deleting.DeletionTimestamp = &metav1.Time{Time: now}
	for _, test := range []struct {
		name, reason  string
		other         *v1alpha1.ConfigMapReplicaSet
		cluster, want string
	}{
		{"older", "it has the ConfigMap", another("older", time.Hour, "b", "a"), "c1", "team/older"},
		{"older, another cluster", "it does not select it", another("older", time.Hour, "a"), "c2", ""},
		{"younger", "the set itself has it", another("younger", 0, "a"), "c1", ""},
		{"another ConfigMap", "they do not meet", another("older", time.Hour, "b"), "c1", ""},
		{"being deleted", "it writes nothing any more", deleting, "c1", ""},
		{"the set itself", "a list has it, too", another("set", time.Hour, "a"), "c1", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			claimed := Claims(another("set", time.Minute, "a"), []*v1alpha1.ConfigMapReplicaSet{test.other},
				func(*v1alpha1.ConfigMapReplicaSet) map[string]bool { return map[string]bool{"c1": true} })
			if got := claimed(test.cluster, "a"); got != test.want {
				t.Errorf("claimed by %q, want %q: %s", got, test.want, test.reason)
			}
		})
	}
}

// TestObstacles: each selected cluster that cannot get the updated revision has its reason, and no other one has.
func TestObstacles(t *testing.T) {
	f := newFixture()
	f.place("p", "c1 c2 c3 c4")
	f.synced("c1", "r1", 60)
	f.problems["c2"] = "ManagedCluster c2 has no label zone"
	f.claims["c3/b"] = "other/settings"
	f.disabled = []string{"c4"}
	want := map[string]string{"c2": "ManagedCluster c2 has no label zone", "c3": "ConfigMap b belongs to ConfigMapReplicaSet other/settings, which is older"}
	if diff := cmp.Diff(want, Plan(f.Inputs).Obstacles); diff != "" {
		t.Errorf("obstacles (-want +got):\n%s", diff)
	}
	f.progressive(1, clusterv1alpha1.RolloutConfig{})
	if diff := cmp.Diff([]string{"the rollout to Placement p stopped: 2 of 4 clusters of the placement failed, 1 tolerated"}, Plan(f.Inputs).Stopped); diff != "" {
		t.Errorf("stopped (-want +got):\n%s", diff)
	}
	f.Set.Spec.PlacementRefs[0].RolloutStrategy.Type = "Some"
	if diff := cmp.Diff([]string{`rolloutStrategy of Placement p: type "Some" is unknown: use All, Progressive or ProgressivePerGroup`}, Plan(f.Inputs).Stopped); diff != "" {
		t.Errorf("an invalid strategy (-want +got):\n%s", diff)
	}
}
