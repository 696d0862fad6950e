package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/steps"
)

func TestNewPlacement(t *testing.T) {
	decided := func(total int32, groups ...clusterv1beta1.DecisionGroupStatus) *clusterv1beta1.Placement {
		return &clusterv1beta1.Placement{Status: clusterv1beta1.PlacementStatus{NumberOfSelectedClusters: total, DecisionGroups: groups,
			Conditions: []metav1.Condition{{Type: clusterv1beta1.PlacementConditionSatisfied}}}}
	}
	decision := func(name string, clusters ...string) *clusterv1beta1.PlacementDecision {
		d := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, cluster := range clusters {
			d.Status.Decisions = append(d.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: cluster})
		}
		return d
	}
	canary := clusterv1beta1.DecisionGroupStatus{DecisionGroupName: "canary", Decisions: []string{"d1"}}
	rest := clusterv1beta1.DecisionGroupStatus{DecisionGroupIndex: 1, Decisions: []string{"d2", "d3"}}
	for _, test := range []struct {
		name, reason string
		placement    *clusterv1beta1.Placement
		decisions    []*clusterv1beta1.PlacementDecision
		want         Placement
	}{
		{"none", "it does not exist", nil, nil, Placement{Gone: true}},
		{"new", "no cluster and not decided yet are not the same", &clusterv1beta1.Placement{}, nil,
			Placement{Problem: "OCM has not decided yet which clusters it selects"}},
		{"empty", "it was decided", decided(0), nil, Placement{Readable: true}},
		{"groups", "a group has several PlacementDecisions", decided(3, canary, rest),
			[]*clusterv1beta1.PlacementDecision{decision("d3", "c"), decision("d1", "a", ""), decision("d2", "b")},
			Placement{Readable: true, Groups: []steps.Group{{Name: "canary", Clusters: []string{"a"}}, {Index: 1, Clusters: []string{"b", "c"}}}}},
		{"incomplete", "a list of half of the clusters would remove the copies of the others", decided(3, canary, rest),
			[]*clusterv1beta1.PlacementDecision{decision("d1", "a"), decision("d2", "b")}, Placement{Problem: "its PlacementDecisions have 2 of 3 clusters"}},
		{"stale", "a PlacementDecision that the status does not name is about to be deleted", decided(1, canary),
			[]*clusterv1beta1.PlacementDecision{decision("d1", "a"), decision("d4", "x")}, Placement{Readable: true, Groups: []steps.Group{{Name: "canary", Clusters: []string{"a"}}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, NewPlacement(test.placement, test.decisions)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestOwner(t *testing.T) {
	set := &v1alpha1.ConfigMapReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "settings", UID: "new"}}
	for _, test := range []struct {
		name, reason string
		object       Object
		want         string
	}{
		{"nobody's", "written by hand", Object{}, "does not belong to a ConfigMapReplicaSet"},
		{"another set's", "names that set", Object{ManagedBy: manifests.ManagedByReplicaSet, Set: "team-b/settings", SetUID: "b"},
			"belongs to ConfigMapReplicaSet team-b/settings"},
		{"a former set's", "its name alone would be this set's", Object{ManagedBy: manifests.ManagedByReplicaSet, Set: "team-a/settings", SetUID: "old"},
			"is left of a former ConfigMapReplicaSet team-a/settings: delete the ConfigMap, and this set creates it"},
	} {
		if diff := cmp.Diff(test.want, test.object.owner(set)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", test.name, test.reason, diff)
		}
	}
}
