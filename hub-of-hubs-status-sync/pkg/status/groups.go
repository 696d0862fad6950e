package status

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// maxDecisions is the maximum number of decisions in a PlacementDecision. Readers
// rely on this limit of Open Cluster Management's placement controller
// (https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/placement/controllers/scheduling/scheduling_controller.go).
const maxDecisions = 100

// hubGroup is a decision group of a Placement on one leaf hub.
type hubGroup struct {
	hub   string
	index int
	name  string
}

// group is a decision group of all hubs.
type group struct {
	name string
	// parts are the indexes of the hubs' groups that were merged into it.
	parts []int
}

// mergeGroups merges the groups of each hub by name. Groups and hubs are given in
// order.
//
// Every hub divides its own clusters by the same strategy, so an index means
// different groups on two hubs. For example, a hub without canaries has the rest
// at index 0, and a large group takes several indexes. So the first groups of a
// name are merged, then the second ones, and so on. Names are in the order in
// which the hubs have them, and groups without a name are last, as in the
// placement controller. Rollouts follow this order.
func mergeGroups(all []hubGroup) []group {
	sequences := sequencesOf(all)
	type key struct {
		name    string
		ordinal int
	}
	merged := map[key]*group{}
	var names [][]string
	for _, places := range sequences {
		var order []string
		ordinal, last := map[string]int{}, hubGroup{index: -1}
		for _, i := range places {
			g := all[i]
			if _, found := ordinal[g.name]; !found {
				ordinal[g.name], order = 0, append(order, g.name)
			} else if g != last {
				ordinal[g.name]++
			}
			last = g
			k := key{g.name, ordinal[g.name]}
			if merged[k] == nil {
				merged[k] = &group{name: g.name}
			}
			merged[k].parts = append(merged[k].parts, i)
		}
		names = append(names, order)
	}
	rank := rankNames(names)
	keys := make([]key, 0, len(merged))
	for k := range merged {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(rank[a.name], rank[b.name]), cmp.Compare(a.name, b.name), cmp.Compare(a.ordinal, b.ordinal))
	})
	result := make([]group, 0, len(keys))
	for _, k := range keys {
		result = append(result, *merged[k])
	}
	return result
}

// sequencesOf returns the indexes of each hub's groups, in the hub's order.
func sequencesOf(all []hubGroup) [][]int {
	places := make([]int, len(all))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int {
		return cmp.Or(cmp.Compare(all[a].hub, all[b].hub), cmp.Compare(all[a].index, all[b].index),
			cmp.Compare(all[a].name, all[b].name))
	})
	var sequences [][]int
	for i, place := range places {
		if i == 0 || all[places[i-1]].hub != all[place].hub {
			sequences = append(sequences, nil)
		}
		last := len(sequences) - 1
		sequences[last] = append(sequences[last], place)
	}
	return sequences
}

// rankNames orders names topologically by the order in which each hub has them.
// Hubs that contradict each other have different versions of the Placement's spec.
// Then any stable order is right.
func rankNames(sequences [][]string) map[string]int {
	rank := map[string]int{}
	for _, sequence := range sequences {
		for _, name := range sequence {
			rank[name] = 0
		}
	}
	for range len(rank) {
		for _, sequence := range sequences {
			for i := 1; i < len(sequence); i++ {
				rank[sequence[i]] = max(rank[sequence[i]], rank[sequence[i-1]]+1)
			}
		}
	}
	rank[""] = math.MaxInt
	return rank
}

// withoutEmpty returns the groups with clusters, or the first one if none has any.
// The placement controller has an empty group only if no cluster is selected, and
// readers rely on indexes without a gap.
func withoutEmpty(groups []group, clusters func(group) int) []group {
	full := slices.DeleteFunc(slices.Clone(groups), func(g group) bool { return clusters(g) == 0 })
	if len(full) == 0 {
		return groups[:min(1, len(groups))]
	}
	return full
}

// objectsOf returns the number of PlacementDecisions of a group with so many clusters.
func objectsOf(clusters int) int {
	return max(1, (clusters+maxDecisions-1)/maxDecisions)
}

// decisionName returns the name of a Placement's PlacementDecision, numbered from 1
// through all groups.
func decisionName(placement string, number int) string {
	return fmt.Sprintf("%s-decision-%d", placement, number)
}
