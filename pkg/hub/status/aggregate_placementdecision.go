package status

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
)

// maxDecisions is how many decisions a PlacementDecision has at most; it is the
// limit of Open Cluster Management's placement controller, which its readers
// rely on.
const maxDecisions = 100

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

// group is a decision group: the placement's decision strategy makes the same
// ones on every hub.
type group struct {
	index int
	name  string
}

// aggregatePlacementDecision makes the PlacementDecisions of a Placement as the
// placement controller names, labels and fills them: `<placement>-decision-<n>`
// from 1, at most 100 decisions each, a group's decisions together, and one
// empty object when no cluster is selected. Without a row there is none. Those
// that a PlacementRule has on a leaf hub are not this Placement's.
func aggregatePlacementDecision(rows Rows, _ int) ([]Desired, error) {
	all, err := decodeAll[placementDecision](rows)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(row decoded[placementDecision]) bool {
		return row.object.Metadata.Labels[clusterv1beta1.PlacementLabel] != rows.Name
	})
	groups := map[group][]decision{}
	for _, row := range all {
		labels := row.object.Metadata.Labels
		// A label that is no number is one of an older Open Cluster Management without groups.
		index, _ := strconv.Atoi(labels[clusterv1beta1.DecisionGroupIndexLabel])
		g := group{index, labels[clusterv1beta1.DecisionGroupNameLabel]}
		if _, found := groups[g]; !found {
			groups[g] = nil
		}
		for _, d := range row.object.Status.Decisions {
			d.hub = row.hub
			groups[g] = append(groups[g], d)
		}
	}
	return decisionObjects(rows.Name, groups, annotations(staleHubs(all), "")), nil
}

func decisionObjects(name string, groups map[group][]decision, notes map[string]string) []Desired {
	order := make([]group, 0, len(groups))
	for g := range groups {
		order = append(order, g)
	}
	slices.SortFunc(order, func(a, b group) int {
		return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.name, b.name))
	})
	var objects []Desired
	for position, g := range order {
		decisions := groups[g]
		if len(decisions) == 0 && (len(order) > 1) {
			continue
		}
		slices.SortFunc(decisions, func(a, b decision) int {
			return cmp.Or(cmp.Compare(a.ClusterName, b.ClusterName), cmp.Compare(a.hub, b.hub), cmp.Compare(a.Reason, b.Reason))
		})
		for first := 0; first == 0 || first < len(decisions); first += maxDecisions {
			objects = append(objects, Desired{
				Name: fmt.Sprintf("%s-decision-%d", name, len(objects)+1),
				Labels: map[string]string{
					clusterv1beta1.PlacementLabel:          name,
					clusterv1beta1.DecisionGroupNameLabel:  g.name,
					clusterv1beta1.DecisionGroupIndexLabel: strconv.Itoa(position),
				},
				Annotations: notes,
				Fields: []Field{{
					Path:  []string{"status", "decisions"},
					Value: decisionEntries(decisions[first:min(first+maxDecisions, len(decisions))]),
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
