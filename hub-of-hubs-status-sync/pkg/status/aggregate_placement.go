package status

import (
	"cmp"
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConditionLeafHubsStale is True on a Placement that a stale leaf hub speaks of.
const ConditionLeafHubsStale = "LeafHubsStale"

// Reasons of the conditions that are made here.
const (
	// ReasonHeartbeatOld: a leaf hub has not been heard of for too long.
	ReasonHeartbeatOld = "HeartbeatOld"
	// ReasonLeafHubsDiffer: leaf hubs give different reasons.
	ReasonLeafHubsDiffer = "LeafHubsDiffer"
)

// conditionMisconfigured is the one condition of a Placement that is bad when it
// is True.
const conditionMisconfigured = "PlacementMisconfigured"

// placement is what matters of a Placement on a leaf hub.
type placement struct {
	Status struct {
		NumberOfSelectedClusters int64              `json:"numberOfSelectedClusters"`
		DecisionGroups           []groupStatus      `json:"decisionGroups"`
		Conditions               []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// aggregatePlacement makes `.status.numberOfSelectedClusters`, the sum of all
// hubs; `.status.decisionGroups` (placementGroups); and `.status.conditions`: of
// each type the worst that a hub says, with the reasons and messages of the hubs
// that say it. A stale hub's good word is Unknown, and a condition of our own
// names the stale hubs. Times are those of the rows, so that equal rows make equal
// conditions.
func aggregatePlacement(rows Rows, budget int) ([]Desired, error) {
	all, err := decodeAll[placement](rows)
	if err != nil {
		return nil, err
	}
	var number, conditions, groups any
	if len(all) > 0 {
		sum := int64(0)
		for _, row := range all {
			sum += max(0, row.object.Status.NumberOfSelectedClusters)
		}
		number = min(sum, math.MaxInt32)
	}
	if merged := placementConditions(rows, all); len(merged) > 0 {
		conditions = merged
	}
	made := placementGroups(rows.Name, all)
	listed := groupListing.fit(made, budget)
	if len(listed) > 0 {
		entries := make([]any, 0, len(listed))
		for _, g := range listed {
			entries = append(entries, g.entry())
		}
		groups = entries
	}
	summarised := leftOut(len(listed), len(made), "decision groups")
	return []Desired{{Name: rows.Name, Summarised: summarised, Note: summarised, Fields: []Field{
		{Path: []string{"status", "conditions"}, Value: conditions},
		{Path: []string{"status", "decisionGroups"}, Value: groups},
		{Path: []string{"status", "numberOfSelectedClusters"}, Value: number},
	}}}, nil
}

func placementConditions(rows Rows, all []decoded[placement]) []any {
	said := map[string][]saying{}
	for _, row := range all {
		for _, condition := range row.object.Status.Conditions {
			said[condition.Type] = append(said[condition.Type], saying{row.hub, row.stale, condition})
		}
	}
	types := make([]string, 0, len(said)+1)
	for kind := range said {
		if kind != "" && kind != ConditionLeafHubsStale {
			types = append(types, kind)
		}
	}
	slices.Sort(types)
	var conditions []any
	for _, kind := range types {
		conditions = append(conditions, conditionJSON(mergeSayings(kind, said[kind])))
	}
	if hubs := staleHubs(all); len(hubs) > 0 {
		since := time.Time{}
		for _, hub := range hubs {
			if rows.Stale[hub].After(since) {
				since = rows.Stale[hub]
			}
		}
		conditions = append(conditions, conditionJSON(metav1.Condition{
			Type: ConditionLeafHubsStale, Status: metav1.ConditionTrue, Reason: ReasonHeartbeatOld,
			Message: "no heartbeat of " + bounded(hubs, ", "), LastTransitionTime: metav1.NewTime(since),
		}))
	}
	slices.SortFunc(conditions, func(a, b any) int {
		return cmp.Compare(a.(map[string]any)["type"].(string), b.(map[string]any)["type"].(string))
	})
	return conditions
}

// saying is a condition as one leaf hub has it.
type saying struct {
	hub       string
	stale     bool
	condition metav1.Condition
}

// badness orders what hubs say: 2 is bad, 1 unknown, 0 good.
func (s saying) badness() int {
	bad := metav1.ConditionFalse
	if s.condition.Type == conditionMisconfigured {
		bad = metav1.ConditionTrue
	}
	switch {
	case s.condition.Status == bad:
		return 2
	case s.stale || (s.condition.Status != metav1.ConditionTrue && s.condition.Status != metav1.ConditionFalse):
		return 1
	default:
		return 0
	}
}

func mergeSayings(kind string, said []saying) metav1.Condition {
	worst := 0
	for _, s := range said {
		worst = max(worst, s.badness())
	}
	merged := metav1.Condition{Type: kind}
	var reasons, messages []string
	for _, s := range said {
		if s.badness() != worst {
			continue
		}
		merged.Status = s.condition.Status
		reason, message := s.condition.Reason, s.condition.Message
		if worst == 1 && s.stale {
			reason, message = ReasonHeartbeatOld, "no heartbeat"
		}
		reasons = append(reasons, reason)
		messages = append(messages, s.hub+": "+message)
		if s.condition.LastTransitionTime.After(merged.LastTransitionTime.Time) {
			merged.LastTransitionTime = s.condition.LastTransitionTime
		}
	}
	if worst == 1 {
		merged.Status = metav1.ConditionUnknown
	}
	slices.Sort(reasons)
	if merged.Reason = reasons[0]; len(slices.Compact(reasons)) > 1 || merged.Reason == "" {
		merged.Reason = ReasonLeafHubsDiffer
	}
	merged.Message = bounded(messages, "; ")
	return merged
}

func conditionJSON(c metav1.Condition) map[string]any {
	return map[string]any{
		"type": c.Type, "status": string(c.Status), "reason": c.Reason, "message": c.Message,
		"lastTransitionTime": c.LastTransitionTime.UTC().Truncate(time.Second).Format(time.RFC3339),
	}
}
