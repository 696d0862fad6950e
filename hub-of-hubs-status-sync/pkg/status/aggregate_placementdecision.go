package status

import (
	"cmp"
	"slices"
	"strconv"

	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
)

// placementDecision is what matters of a PlacementDecision on a leaf hub.
type placementDecision struct {
	Metadata struct {
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	Status struct {
		Decisions []decision `json:"decisions"`
	} `json:"status"`
}

type decision struct {
	ClusterName string `json:"clusterName"`
	Reason      string `json:"reason"`
	Score       *int64 `json:"score"`

	hub string
}

// aggregatePlacementDecision makes the PlacementDecisions of a Placement as the
// placement controller names, labels and fills them: `<placement>-decision-<n>`
// from 1, at most 100 decisions each, a group's decisions together (mergeGroups),
// and one empty object when no cluster is selected. Without a row there is none.
// Those that a PlacementRule has on a leaf hub are not this Placement's.
func aggregatePlacementDecision(rows Rows, _ int) ([]Desired, error) {
	all, err := decodeAll[placementDecision](rows)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(row decoded[placementDecision]) bool {
		return row.object.Metadata.Labels[clusterv1beta1.PlacementLabel] != rows.Name
	})
	hubs := make([]hubGroup, 0, len(all))
	for _, row := range all {
		labels := row.object.Metadata.Labels
		// A label that is no number is one of an older Open Cluster Management without groups.
		index, _ := strconv.Atoi(labels[clusterv1beta1.DecisionGroupIndexLabel])
		hubs = append(hubs, hubGroup{row.hub, index, labels[clusterv1beta1.DecisionGroupNameLabel]})
	}
	return decisionObjects(rows.Name, groupDecisions(all, mergeGroups(hubs)), annotations(staleHubs(all), "")), nil
}

// decisionGroup is a group with its decisions, sorted.
type decisionGroup struct {
	name      string
	decisions []decision
}

func groupDecisions(all []decoded[placementDecision], groups []group) []decisionGroup {
	count := func(g group) (sum int) {
		for _, part := range g.parts {
			sum += len(all[part].object.Status.Decisions)
		}
		return sum
	}
	var result []decisionGroup
	for _, g := range withoutEmpty(groups, count) {
		decisions := make([]decision, 0, count(g))
		for _, part := range g.parts {
			for _, d := range all[part].object.Status.Decisions {
				d.hub = all[part].hub
				decisions = append(decisions, d)
			}
		}
		slices.SortFunc(decisions, func(a, b decision) int {
			return cmp.Or(cmp.Compare(a.ClusterName, b.ClusterName), cmp.Compare(a.hub, b.hub), cmp.Compare(a.Reason, b.Reason))
		})
		result = append(result, decisionGroup{g.name, decisions})
	}
	return result
}

func decisionObjects(name string, groups []decisionGroup, notes map[string]string) []Desired {
	var objects []Desired
	for index, g := range groups {
		for n := range objectsOf(len(g.decisions)) {
			first := n * maxDecisions
			objects = append(objects, Desired{
				Name: decisionName(name, len(objects)+1),
				Labels: map[string]string{
					clusterv1beta1.PlacementLabel:          name,
					clusterv1beta1.DecisionGroupNameLabel:  g.name,
					clusterv1beta1.DecisionGroupIndexLabel: strconv.Itoa(index),
				},
				Annotations: notes,
				Fields: []Field{{
					Path:  []string{"status", "decisions"},
					Value: decisionEntries(g.decisions[first:min(first+maxDecisions, len(g.decisions))]),
				}},
			})
		}
	}
	return objects
}

func decisionEntries(decisions []decision) []any {
	entries := make([]any, 0, len(decisions))
	for _, d := range decisions {
		entry := map[string]any{"clusterName": d.ClusterName, "reason": d.Reason}
		if d.Score != nil {
			entry["score"] = *d.Score
		}
		entries = append(entries, entry)
	}
	return entries
}
