package status

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
)

// ConditionLeafHubsStale is True on a Placement with rows of a stale leaf hub.
const ConditionLeafHubsStale = "LeafHubsStale"

// Reasons of the conditions that the aggregate adds.
const (
	// ReasonHeartbeatOld: a leaf hub is stale.
	ReasonHeartbeatOld = "HeartbeatOld"
	// ReasonLeafHubsDiffer: leaf hubs give different reasons.
	ReasonLeafHubsDiffer = "LeafHubsDiffer"
)

// conditionMisconfigured is the only condition of a Placement whose bad value is
// True.
const conditionMisconfigured = "PlacementMisconfigured"

// placement has the used fields of a Placement on a leaf hub.
type placement struct {
	Status struct {
		NumberOfSelectedClusters int64              `json:"numberOfSelectedClusters"`
		DecisionGroups           []groupStatus      `json:"decisionGroups"`
		Conditions               []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// aggregatePlacement returns `.status.numberOfSelectedClusters`, the sum of all
// hubs, `.status.decisionGroups` (see placementGroups) and `.status.conditions`:
// of each type the worst value, with the reasons and messages of the hubs that
// have it. A good value of a stale hub becomes Unknown, and ConditionLeafHubsStale
// names the stale hubs. Times are copied from the rows, so equal rows give equal
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
	byType := map[string][]hubCondition{}
	for _, row := range all {
		for _, condition := range row.object.Status.Conditions {
			byType[condition.Type] = append(byType[condition.Type], hubCondition{row.hub, row.stale, condition})
		}
	}
	types := make([]string, 0, len(byType)+1)
	for kind := range byType {
		if kind != "" && kind != ConditionLeafHubsStale {
			types = append(types, kind)
		}
	}
	slices.Sort(types)
	var conditions []any
	for _, kind := range types {
		conditions = append(conditions, conditionJSON(mergeConditions(kind, byType[kind])))
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

// hubCondition is a condition on one leaf hub.
type hubCondition struct {
	hub       string
	stale     bool
	condition metav1.Condition
}

// badness returns 2 for a bad value, 1 for an unknown one and 0 for a good one.
func (s hubCondition) badness() int {
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

func mergeConditions(kind string, all []hubCondition) metav1.Condition {
	worst := 0
	for _, s := range all {
		worst = max(worst, s.badness())
	}
	merged := metav1.Condition{Type: kind}
	var reasons, messages []string
	for _, s := range all {
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

// groupStatus has the used fields of a decision group in a Placement's status.
type groupStatus struct {
	Index    int    `json:"decisionGroupIndex"`
	Name     string `json:"decisionGroupName"`
	Clusters int    `json:"clusterCount"`
}

// placementGroup is a group of all hubs. first is the number of its first
// PlacementDecision.
type placementGroup struct {
	placement, name        string
	index, clusters, first int
}

// placementGroups returns a Placement's `.status.decisionGroups`: the groups of all
// hubs (see mergeGroups) with the sums of their clusters and the names of the
// PlacementDecisions that aggregatePlacementDecision returns for so many
// decisions. The two are computed from different tables, so one can be ahead of
// the other, as on a hub between the placement controller's two writes.
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

// groupsOf returns the groups of one hub. An Open Cluster Management without groups
// counts as one group of all clusters as soon as the Placement has a condition.
func groupsOf(p placement) []groupStatus {
	status := p.Status
	if len(status.DecisionGroups) > 0 || (len(status.Conditions) == 0 && status.NumberOfSelectedClusters <= 0) {
		return status.DecisionGroups
	}
	return []groupStatus{{Clusters: int(min(max(0, status.NumberOfSelectedClusters), math.MaxInt32))}}
}

// groupListing orders groups by index, without ranks.
var groupListing = listing[placementGroup]{
	compare: func(a, b placementGroup) int { return cmp.Compare(a.index, b.index) },
	rank:    func(placementGroup) int { return 0 },
	size:    placementGroup.size,
}

// size returns the group's size in bytes of JSON. It is computed without building
// the names, because a row may have any number of clusters.
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

// placementDecision has the used fields of a PlacementDecision on a leaf hub.
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

// aggregatePlacementDecision returns the PlacementDecisions of a Placement with the
// placement controller's names and labels: `<placement>-decision-<n>` from 1, at
// most 100 decisions each, the decisions of a group together (see mergeGroups),
// and one empty object when no cluster is selected. Without rows there is none.
// PlacementDecisions of a PlacementRule are skipped.
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
		// Without a numeric label the row is of an older Open Cluster Management without groups.
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
