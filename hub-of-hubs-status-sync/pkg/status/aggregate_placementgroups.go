package status

import (
	"cmp"
	"math"
)

// groupStatus is what matters of a decision group in a Placement's status.
type groupStatus struct {
	Index    int    `json:"decisionGroupIndex"`
	Name     string `json:"decisionGroupName"`
	Clusters int    `json:"clusterCount"`
}

// placementGroup is a group of all hubs; first is the number of its first
// PlacementDecision.
type placementGroup struct {
	placement, name        string
	index, clusters, first int
}

// placementGroups makes a Placement's `.status.decisionGroups`: the groups of all
// hubs (mergeGroups), with the sums of their clusters and the names of the
// PlacementDecisions that aggregatePlacementDecision makes of as many decisions.
// The two are of different tables, and agree as far as those do: on a hub that is
// between writing the one and the other the placement controller's do not agree
// either.
func placementGroups(name string, all []decoded[placement]) []placementGroup {
	var hubs []hubGroup
	var counts []int
	for _, row := range all {
		for _, g := range groupsOf(row.object) {
			hubs = append(hubs, hubGroup{row.hub, g.Index, g.Name})
			counts = append(counts, max(0, g.Clusters))
		}
	}
	count := func(g group) (sum int) {
		for _, part := range g.parts {
			sum += counts[part]
		}
		return min(sum, math.MaxInt32)
	}
	var result []placementGroup
	next := 1
	for index, g := range withoutEmpty(mergeGroups(hubs), count) {
		made := placementGroup{placement: name, index: index, name: g.name, clusters: count(g), first: next}
		next += objectsOf(made.clusters)
		result = append(result, made)
	}
	return result
}

// groupsOf are the groups of one hub. An Open Cluster Management that knows no
// groups has one of all clusters, once it has decided: then there is a condition.
func groupsOf(p placement) []groupStatus {
	status := p.Status
	if len(status.DecisionGroups) > 0 || (len(status.Conditions) == 0 && status.NumberOfSelectedClusters <= 0) {
		return status.DecisionGroups
	}
	return []groupStatus{{Clusters: int(min(max(0, status.NumberOfSelectedClusters), math.MaxInt32))}}
}

// groupListing lists groups by index; none is more urgent.
var groupListing = listing[placementGroup]{
	compare: func(a, b placementGroup) int { return cmp.Compare(a.index, b.index) },
	rank:    func(placementGroup) int { return 0 },
	size:    placementGroup.size,
}

// size is the group's share of the JSON, in bytes. It is known before there are
// names: a hub may say any number of clusters.
func (g placementGroup) size() int {
	// The numbers have at most 10 digits.
	const number = "4294967296"
	return len(`{"clusterCount":,"decisionGroupIndex":,"decisionGroupName":"","decisions":[]},`+number+number) + len(g.name) +
		objectsOf(g.clusters)*(len(decisionName(g.placement, 0))+len(number)+len(`"",`))
}

func (g placementGroup) entry() any {
	names := make([]any, 0, objectsOf(g.clusters))
	for n := range objectsOf(g.clusters) {
		names = append(names, decisionName(g.placement, g.first+n))
	}
	return map[string]any{"decisionGroupIndex": int64(g.index), "decisionGroupName": g.name,
		"decisions": names, "clusterCount": int64(g.clusters)}
}
