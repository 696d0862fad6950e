package ui

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/rollout/plan"
)

func TestRolloutsOfAddOn(t *testing.T) {
	for _, test := range []struct {
		name      string
		condition *metav1.Condition
		want      Rollout
	}{
		{name: "OCM has not looked yet", want: Rollout{State: plan.Waiting, Message: "OCM has not reported yet"}},
		{name: "it goes on", condition: &metav1.Condition{Reason: addonv1alpha1.ProgressingReasonProgressing, Message: "1/3 progressing..."},
			want: Rollout{State: plan.Waiting, Message: "1/3 progressing..."}},
		{name: "it is done", condition: &metav1.Condition{Reason: addonv1alpha1.ProgressingReasonCompleted, Message: "3/3 completed"},
			want: Rollout{State: plan.Done, Message: "3/3 completed"}},
		{name: "it failed", condition: &metav1.Condition{Reason: addonv1alpha1.ProgressingReasonFailed, Message: "1 timed out"},
			want: Rollout{State: plan.Failed, Message: "1 timed out"}},
		{name: "the configuration is not for this add-on", condition: &metav1.Condition{Reason: addonv1alpha1.ProgressingReasonConfigurationUnsupported},
			want: Rollout{State: plan.Failed, Message: addonv1alpha1.ProgressingReasonConfigurationUnsupported}},
	} {
		t.Run(test.name, func(t *testing.T) {
			progression := addonv1alpha1.InstallProgression{PlacementRef: addonv1alpha1.PlacementRef{Namespace: "default", Name: "all"}}
			if test.condition != nil {
				test.condition.Type = addonv1alpha1.ManagedClusterAddOnConditionProgressing
				progression.Conditions = []metav1.Condition{*test.condition}
			}
			addOn := &addonv1alpha1.ClusterManagementAddOn{}
			addOn.Status.InstallProgressions = []addonv1alpha1.InstallProgression{progression}
			test.want.Kind, test.want.Name = configurationRollout, "default/all"
			if diff := cmp.Diff([]Rollout{test.want}, rolloutsOfAddOn(addOn)); diff != "" {
				t.Errorf("rollouts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRolloutOfSet(t *testing.T) {
	set := &v1alpha1.ConfigMapReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings", Generation: 2}}
	set.Status.Summary = v1alpha1.Summary{Total: 3, Synced: 1}
	set.Status.Placements = []v1alpha1.PlacementStatus{{Name: "all", Groups: []v1alpha1.GroupStatus{
		{Name: "canary", Summary: v1alpha1.Summary{Total: 1, Synced: 1}},
		{Name: "", Summary: v1alpha1.Summary{Total: 2}},
	}}}
	got := rolloutOfSet(set)
	progress := plan.Judge(set)
	want := Rollout{Kind: replicaSetRollout, Name: "default/settings", State: progress.State, Message: progress.Message, Warning: progress.Warning,
		Summary: &v1alpha1.Summary{Total: 3, Synced: 1}, Steps: []Step{
			{Placement: "all", Group: "canary", Summary: v1alpha1.Summary{Total: 1, Synced: 1}},
			{Placement: "all", Summary: v1alpha1.Summary{Total: 2}},
		}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rollout (-want +got):\n%s", diff)
	}
	if got.State != plan.Waiting {
		t.Errorf("a set whose controller has not seen it yet is %s, want %s", got.State, plan.Waiting)
	}
}

func TestGroupsOf(t *testing.T) {
	decision := func(placement, group, index string, clusters ...string) *clusterv1beta1.PlacementDecision {
		d := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Labels: map[string]string{}}}
		for label, value := range map[string]string{clusterv1beta1.PlacementLabel: placement, clusterv1beta1.DecisionGroupNameLabel: group,
			clusterv1beta1.DecisionGroupIndexLabel: index} {
			if value != "" {
				d.Labels[label] = value
			}
		}
		for _, name := range clusters {
			d.Status.Decisions = append(d.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: name})
		}
		return d
	}
	got := groupsOf([]*clusterv1beta1.PlacementDecision{
		decision("second", "", "", "a"),
		decision("all", "canary", "0", "a"),
		decision("all", "", "1", "b"),
		decision("all", "", "1", "c"), // a group of more than 100 clusters has several
		decision("", "canary", "0", "d"),
	})
	want := []PlacementGroups{
		{Placement: "default/all", Groups: map[string]string{"a": "canary", "b": "group 1", "c": "group 1"}},
		{Placement: "default/second", Groups: map[string]string{"a": "group 0"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

// TestSorted: what needs a person first, then what goes on.
func TestSorted(t *testing.T) {
	done, waiting := Rollout{Kind: "A", Name: "1", State: plan.Done}, Rollout{Kind: "B", Name: "1", State: plan.Waiting}
	failed, failedToo := Rollout{Kind: "B", Name: "1", State: plan.Failed}, Rollout{Kind: "B", Name: "2", State: plan.Failed}
	got := sorted([]Rollout{done, failedToo, waiting, failed})
	if diff := cmp.Diff([]Rollout{failed, failedToo, waiting, done}, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}
