package plan

import (
	"fmt"

	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/steps"
)

// NewPlacement returns what is known of a Placement and its PlacementDecisions; nil is a Placement that
// does not exist. It is readable when the decisions are those that its status counts: OCM's placement
// controller writes up to 100 clusters into each PlacementDecision, one after the other, and then the
// status.
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/placement/controllers/scheduling/scheduling_controller.go
func NewPlacement(placement *clusterv1beta1.Placement, decisions []*clusterv1beta1.PlacementDecision) Placement {
	if placement == nil {
		return Placement{Gone: true}
	}
	if len(placement.Status.Conditions) == 0 {
		return Placement{Problem: "OCM has not decided yet which clusters it selects"}
	}
	clusters := map[string][]string{}
	for _, decision := range decisions {
		for _, selected := range decision.Status.Decisions {
			if selected.ClusterName != "" {
				clusters[decision.Name] = append(clusters[decision.Name], selected.ClusterName)
			}
		}
	}
	var groups []steps.Group
	total := 0
	for _, status := range placement.Status.DecisionGroups {
		group := steps.Group{Name: status.DecisionGroupName, Index: status.DecisionGroupIndex}
		for _, name := range status.Decisions {
			group.Clusters = append(group.Clusters, clusters[name]...)
		}
		total += len(group.Clusters)
		groups = append(groups, group)
	}
	if want := int(placement.Status.NumberOfSelectedClusters); total != want {
		return Placement{Problem: fmt.Sprintf("its PlacementDecisions have %d of %d clusters", total, want)}
	}
	return Placement{Readable: true, Groups: groups}
}
