package ui

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/rollout/plan"
)

// Kinds of rollouts.
const (
	configurationRollout = "Configuration"
	replicaSetRollout    = "ConfigMapReplicaSet"
)

// Rollout is how far one rollout is.
type Rollout struct {
	// Kind is Configuration, of the add-on on the clusters of a Placement, or ConfigMapReplicaSet.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// State is Done, Waiting or Failed.
	State plan.State `json:"state"`
	// Message tells how far it is, and what holds it.
	Message string `json:"message"`
	// Warning is what needs a person though the rollout is done.
	Warning string `json:"warning,omitempty"`
	// Summary counts the clusters of a ConfigMapReplicaSet, and Steps those of each decision group.
	Summary *v1alpha1.Summary `json:"summary,omitempty"`
	Steps   []Step            `json:"steps,omitempty"`
}

func (r Rollout) equal(other Rollout) bool { return equality.Semantic.DeepEqual(r, other) }

// Step is a decision group of a Placement.
type Step struct {
	Placement string           `json:"placement"`
	Group     string           `json:"group"`
	Summary   v1alpha1.Summary `json:"summary"`
}

// PlacementGroups are the clusters that a Placement selects, by their decision group.
type PlacementGroups struct {
	// Placement has its namespace before the name.
	Placement string            `json:"placement"`
	Groups    map[string]string `json:"groups"`
}

func (p PlacementGroups) equal(other PlacementGroups) bool {
	return p.Placement == other.Placement && maps.Equal(p.Groups, other.Groups)
}

// rolloutOfSet returns how far a ConfigMapReplicaSet is, by its status.
func rolloutOfSet(set *v1alpha1.ConfigMapReplicaSet) Rollout {
	progress := plan.Judge(set)
	r := Rollout{Kind: replicaSetRollout, Name: set.Namespace + "/" + set.Name, State: progress.State, Message: progress.Message,
		Warning: progress.Warning, Summary: &set.Status.Summary}
	for _, p := range set.Status.Placements {
		for _, g := range p.Groups {
			r.Steps = append(r.Steps, Step{Placement: p.Name, Group: g.Name, Summary: g.Summary})
		}
	}
	return r
}

// rolloutsOfAddOn returns how far the add-on's configuration is on the clusters of each Placement, by OCM's report.
func rolloutsOfAddOn(addOn *addonv1alpha1.ClusterManagementAddOn) []Rollout {
	var all []Rollout
	for _, p := range addOn.Status.InstallProgressions {
		r := Rollout{Kind: configurationRollout, Name: p.Namespace + "/" + p.Name, State: plan.Waiting, Message: "OCM has not reported yet"}
		if c := meta.FindStatusCondition(p.Conditions, addonv1alpha1.ManagedClusterAddOnConditionProgressing); c != nil {
			r.Message = cmp.Or(c.Message, c.Reason)
			switch c.Reason {
			case addonv1alpha1.ProgressingReasonCompleted:
				r.State = plan.Done
			case addonv1alpha1.ProgressingReasonFailed, addonv1alpha1.ProgressingReasonConfigurationUnsupported:
				r.State = plan.Failed
			}
		}
		all = append(all, r)
	}
	return all
}

// groupsOf returns the decision groups of the Placements. A PlacementDecision has up to 100 clusters of a group.
// https://open-cluster-management.io/docs/concepts/content-placement/placement/#decision-strategy
func groupsOf(decisions []*clusterv1beta1.PlacementDecision) []PlacementGroups {
	found := map[string]map[string]string{}
	for _, d := range decisions {
		placement, group := d.Labels[clusterv1beta1.PlacementLabel], d.Labels[clusterv1beta1.DecisionGroupNameLabel]
		if placement == "" {
			continue
		}
		if group == "" {
			group = "group " + cmp.Or(d.Labels[clusterv1beta1.DecisionGroupIndexLabel], "0")
		}
		name := d.Namespace + "/" + placement
		if found[name] == nil {
			found[name] = map[string]string{}
		}
		for _, decision := range d.Status.Decisions {
			found[name][decision.ClusterName] = group
		}
	}
	var all []PlacementGroups
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all = append(all, PlacementGroups{Placement: name, Groups: found[name]})
	}
	return all
}

// sorted returns the rollouts: those that failed first, then those that go on.
func sorted(all []Rollout) []Rollout {
	order := map[plan.State]int{plan.Failed: 0, plan.Waiting: 1, plan.Done: 2}
	slices.SortStableFunc(all, func(a, b Rollout) int {
		return cmp.Or(order[a.State]-order[b.State], cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return all
}
