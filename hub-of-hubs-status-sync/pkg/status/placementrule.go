package status

import (
	"cmp"
	"strings"
)

// placementRule has the used fields of a PlacementRule on a leaf hub.
type placementRule struct {
	Status struct {
		Decisions []ruleDecision `json:"decisions"`
	} `json:"status"`
}

type ruleDecision struct {
	ClusterName      string `json:"clusterName"`
	ClusterNamespace string `json:"clusterNamespace"`

	hub string
}

// ruleListing orders decisions by cluster and hub, without ranks.
var ruleListing = listing[ruleDecision]{
	compare: func(a, b ruleDecision) int {
		return cmp.Or(cmp.Compare(a.ClusterName, b.ClusterName), cmp.Compare(a.hub, b.hub),
			cmp.Compare(a.ClusterNamespace, b.ClusterNamespace))
	},
	rank: func(ruleDecision) int { return 0 },
	size: func(d ruleDecision) int {
		return len(`{"clusterName":"","clusterNamespace":""},`) + len(d.ClusterName) + len(d.ClusterNamespace)
	},
}

// aggregatePlacementRule returns `.status.decisions`, those of all hubs, sorted by
// cluster and hub. A PlacementRule has no field for stale hubs or omitted clusters,
// so they are in the note.
func aggregatePlacementRule(rows Rows, budget int) ([]Desired, error) {
	all, err := decodeAll[placementRule](rows)
	if err != nil {
		return nil, err
	}
	var decisions []ruleDecision
	for _, row := range all {
		for _, decision := range row.object.Status.Decisions {
			decision.hub = row.hub
			decisions = append(decisions, decision)
		}
	}
	listed := ruleListing.fit(decisions, budget)
	var value any
	if len(listed) > 0 {
		entries := make([]any, 0, len(listed))
		for _, d := range listed {
			entries = append(entries, map[string]any{"clusterName": d.ClusterName, "clusterNamespace": d.ClusterNamespace})
		}
		value = entries
	}
	summarised := leftOut(len(listed), len(decisions), "decisions")
	var notes []string
	if hubs := staleHubs(all); len(hubs) > 0 {
		notes = append(notes, "no heartbeat of "+bounded(hubs, ", "))
	}
	if summarised != "" {
		notes = append(notes, summarised)
	}
	return []Desired{{
		Name:       rows.Name,
		Fields:     []Field{{Path: []string{"status", "decisions"}, Value: value}},
		Summarised: summarised,
		Note:       strings.Join(notes, "; "),
	}}, nil
}
