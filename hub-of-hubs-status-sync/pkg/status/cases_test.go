package status

import (
	"fmt"
	"strings"
	"time"
)

var policyCases = []goldenCase{
	{name: "no rows", why: "removed rows clear the status"},
	{name: "one non-compliant", why: "one is enough, also beside unknown ones", rows: Rows{Compliance: []ComplianceRow{
		comply("hub2", "b", "compliant"), comply("hub1", "c", "non_compliant"), comply("hub1", "a", "unknown")}}},
	{name: "all compliant", why: "only then is the policy Compliant", rows: Rows{Compliance: []ComplianceRow{
		comply("hub1", "b", "compliant"), comply("hub1", "a", "compliant")}}},
	{name: "all unknown", why: "a policy that is unknown everywhere is not Compliant", rows: Rows{Compliance: []ComplianceRow{
		comply("hub1", "a", "unknown"), comply("hub2", "b", "unknown")}}},
	{name: "one unknown", why: "one unknown cluster may be anything", rows: Rows{Compliance: []ComplianceRow{
		comply("hub1", "a", "compliant"), comply("hub2", "b", "unknown")}}},
	{name: "one name on two hubs", why: "two clusters are two entries, in the order of the hubs", rows: Rows{Compliance: []ComplianceRow{
		comply("hub2", "a", "non_compliant"), comply("hub1", "a", "compliant"),
		comply("hub2", "b", "compliant"), comply("hub1", "b", "non_compliant")}}},
	{name: "disconnected", why: "whether it is still compliant is unknown; that it was not stays", rows: Rows{Compliance: []ComplianceRow{
		{"hub1", "a", "disconnected", "compliant"}, {"hub1", "b", "none", "compliant"}, {"hub1", "c", "disconnected", "non_compliant"}}}},
	{name: "stale hub", why: "its compliant clusters are unknown", rows: Rows{Stale: map[string]time.Time{"hub1": since},
		Compliance: []ComplianceRow{comply("hub1", "a", "compliant"), comply("hub2", "b", "compliant")}}},
	{name: "too large", why: "the most urgent clusters stay, and the numbers are of all", budget: 330, rows: Rows{Compliance: []ComplianceRow{
		comply("hub1", "a", "compliant"), comply("hub1", "b", "compliant"), comply("hub1", "c", "unknown"),
		comply("hub1", "d", "non_compliant"), comply("hub1", "e", "compliant"), comply("hub1", "f", "unknown")}}},
}

func decisions(names ...string) string {
	entries := make([]string, 0, len(names))
	for _, name := range names {
		entries = append(entries, fmt.Sprintf(`{"clusterName":%q,"clusterNamespace":%q}`, name, name))
	}
	return `{"status":{"decisions":[` + strings.Join(entries, ",") + `]}}`
}

var placementRuleCases = []goldenCase{
	{name: "no rows", why: "removed rows clear the status"},
	{name: "two hubs", why: "sorted, so that it does not flap", rows: Rows{Payloads: []PayloadRow{
		payload("hub2", decisions("d", "a")), payload("hub1", decisions("c", "b"))}}},
	{name: "one name on two hubs", why: "two clusters are two entries", rows: Rows{Payloads: []PayloadRow{
		payload("hub2", decisions("a")), payload("hub1", decisions("a"))}}},
	{name: "no status yet", why: "a hub that has not decided decides nothing", rows: Rows{Payloads: []PayloadRow{
		payload("hub2", `{"metadata":{"name":"thing"}}`), payload("hub1", decisions("a"))}}},
	{name: "stale hub", why: "its decisions stay, and an event says that they are old", rows: Rows{Stale: map[string]time.Time{"hub1": since},
		Payloads: []PayloadRow{payload("hub1", decisions("a"))}}},
	{name: "too large", why: "as many as fit", budget: 100, rows: Rows{Payloads: []PayloadRow{payload("hub1", decisions("a", "b", "c", "d"))}}},
	{name: "text instead of an object", why: "less than the truth must not be written", rows: Rows{Payloads: []PayloadRow{
		payload("hub1", `"garbage"`), payload("hub2", decisions("a"))}}},
	{name: "null", why: "null is no object", rows: Rows{Payloads: []PayloadRow{payload("hub1", `null`)}}},
	{name: "wrong type inside", why: "every hub that cannot be read is named", rows: Rows{Payloads: []PayloadRow{
		payload("hub1", `{"status":{"decisions":"none"}}`), payload("hub2", `[1]`)}}},
}

func placementOf(number int, conditions ...string) string {
	return fmt.Sprintf(`{"status":{"numberOfSelectedClusters":%d,"conditions":[%s]}}`, number, strings.Join(conditions, ","))
}

func condition(kind, status, reason, message string, day int) string {
	return fmt.Sprintf(`{"type":%q,"status":%q,"reason":%q,"message":%q,"lastTransitionTime":"2026-01-%02dT00:00:00Z"}`, kind, status, reason, message, day)
}

var placementCases = []goldenCase{
	{name: "no rows", why: "removed rows clear the status"},
	{name: "satisfied everywhere", why: "the sum, and since when the last hub is satisfied", rows: Rows{Payloads: []PayloadRow{
		payload("hub2", placementOf(3, condition("PlacementSatisfied", "True", "AllDecisionsScheduled", "ok", 5))),
		payload("hub1", placementOf(4, condition("PlacementSatisfied", "True", "AllDecisionsScheduled", "ok", 4)))}}},
	{name: "not satisfied on one", why: "the worst counts, and says where", rows: Rows{Payloads: []PayloadRow{
		payload("hub2", placementOf(0, condition("PlacementSatisfied", "False", "NoManagedClusterMatched", "none matches", 5))),
		payload("hub1", placementOf(4, condition("PlacementSatisfied", "True", "AllDecisionsScheduled", "ok", 9)))}}},
	{name: "not satisfied on the first", why: "the worst counts wherever it is", rows: Rows{Payloads: []PayloadRow{
		payload("hub1", placementOf(0, condition("PlacementSatisfied", "False", "NoManagedClusterMatched", "none matches", 5))),
		payload("hub2", placementOf(4, condition("PlacementSatisfied", "True", "AllDecisionsScheduled", "ok", 9)))}}},
	{name: "two reasons", why: "one reason cannot speak for two", rows: Rows{Payloads: []PayloadRow{
		payload("hub2", placementOf(0, condition("PlacementSatisfied", "False", "NoManagedClusterMatched", "none matches", 5))),
		payload("hub1", placementOf(0, condition("PlacementSatisfied", "False", "NoManagedClusterSetBindings", "none bound", 6)))}}},
	{name: "misconfigured on one", why: "this condition is bad when it is True", rows: Rows{Payloads: []PayloadRow{
		payload("hub2", placementOf(0, condition("PlacementMisconfigured", "True", "Misconfigured", "bad", 5))),
		payload("hub1", placementOf(0, condition("PlacementMisconfigured", "False", "Succeedconfigured", "fine", 6)))}}},
	{name: "stale hub", why: "its good word is unknown, and a condition names it", rows: Rows{Stale: map[string]time.Time{"hub2": since},
		Payloads: []PayloadRow{
			payload("hub2", placementOf(3, condition("PlacementSatisfied", "True", "AllDecisionsScheduled", "ok", 5))),
			payload("hub1", placementOf(4, condition("PlacementSatisfied", "True", "AllDecisionsScheduled", "ok", 4)))}}},
	{name: "garbage", why: "less than the truth must not be written", rows: Rows{Payloads: []PayloadRow{
		payload("hub1", `{"status":{"numberOfSelectedClusters":"many"}}`)}}},
}

// groupsOfHub is the Placement of a hub with decision groups of a name and a size.
func groupsOfHub(groups ...any) string {
	var entries []string
	for i := 0; i < len(groups); i += 2 {
		entries = append(entries, fmt.Sprintf(`{"decisionGroupIndex":%d,"decisionGroupName":%q,"decisions":["other"],"clusterCount":%d}`,
			i/2, groups[i], groups[i+1]))
	}
	return `{"status":{"decisionGroups":[` + strings.Join(entries, ",") + `]}}`
}

var placementGroupCases = []goldenCase{
	{name: "two hubs", why: "sums, and the names of as many PlacementDecisions as they fill", rows: Rows{Payloads: []PayloadRow{
		payload("hub1", groupsOfHub("canary", 3, "", 120)), payload("hub2", groupsOfHub("canary", 2, "", 90))}}},
	{name: "a hub without canaries", why: "the same index is another group on another hub; canaries stay first, the rest last", rows: Rows{
		Payloads: []PayloadRow{payload("hub1", groupsOfHub("", 4)), payload("hub2", groupsOfHub("canary", 1, "", 2))}}},
	{name: "a large group is divided", why: "the first part goes with the first, the second with the second", rows: Rows{
		Payloads: []PayloadRow{payload("hub1", groupsOfHub("canary", 5, "", 5)), payload("hub2", groupsOfHub("canary", 5, "canary", 2, "", 5, "", 1))}}},
	{name: "three names", why: "no hub has all of them in order, but two together do", rows: Rows{Payloads: []PayloadRow{
		payload("hub1", groupsOfHub("c", 1, "b", 1)), payload("hub2", groupsOfHub("b", 1, "a", 1)), payload("hub3", groupsOfHub("a", 1, "", 1))}}},
	{name: "three names, known backwards", why: "what comes first is known only from the last hub", rows: Rows{Payloads: []PayloadRow{
		payload("hub1", groupsOfHub("b", 1, "a", 1)), payload("hub2", groupsOfHub("c", 1, "b", 1))}}},
	{name: "hubs contradict each other", why: "in the middle of a change of the strategy any order will do that stays", rows: Rows{
		Payloads: []PayloadRow{payload("hub1", groupsOfHub("a", 1, "b", 1)), payload("hub2", groupsOfHub("b", 1, "a", 1))}}},
	{name: "no cluster selected", why: "one empty group with its empty PlacementDecision, as the placement controller has it", rows: Rows{
		Payloads: []PayloadRow{payload("hub1", groupsOfHub("", 0)), payload("hub2", groupsOfHub("", 0))}}},
	{name: "one hub selected no cluster", why: "its empty group is none: readers count on indexes without a gap", rows: Rows{
		Payloads: []PayloadRow{payload("hub1", groupsOfHub("", 0)), payload("hub2", groupsOfHub("canary", 1, "canary", 1))}}},
	{name: "exactly 100", why: "no PlacementDecision follows a full one", rows: Rows{Payloads: []PayloadRow{
		payload("hub1", groupsOfHub("", 60)), payload("hub2", groupsOfHub("", 40))}}},
	{name: "without groups", why: "an Open Cluster Management that knows none has one of all clusters", rows: Rows{Payloads: []PayloadRow{
		payload("hub1", placementOf(101, condition("PlacementSatisfied", "True", "AllDecisionsScheduled", "ok", 5))),
		payload("hub2", `{"status":{"numberOfSelectedClusters":2}}`)}}},
	{name: "not decided yet", why: "there is no PlacementDecision either", rows: Rows{Payloads: []PayloadRow{payload("hub1", `{"metadata":{}}`)}}},
	{name: "a negative count", why: "no hub has fewer clusters than none", rows: Rows{Payloads: []PayloadRow{
		payload("hub1", groupsOfHub("", -5)), payload("hub2", groupsOfHub("", 5))}}},
	{name: "too large", why: "an impossible number takes no memory; an event says that the list is short", budget: 400, rows: Rows{
		Payloads: []PayloadRow{payload("hub1", groupsOfHub("canary", 7, "", 2147483647))}}},
}

func decisionOf(placement, group string, index int, names ...string) string {
	entries := make([]string, 0, len(names))
	for _, name := range names {
		entries = append(entries, fmt.Sprintf(`{"clusterName":%q,"reason":""}`, name))
	}
	return fmt.Sprintf(`{"metadata":{"name":"x","labels":{"cluster.open-cluster-management.io/placement":%q,
"cluster.open-cluster-management.io/decision-group-index":"%d","cluster.open-cluster-management.io/decision-group-name":%q}},
"status":{"decisions":[%s]}}`, placement, index, group, strings.Join(entries, ","))
}

func numbered(prefix string, count int) []string {
	names := make([]string, 0, count)
	for i := range count {
		names = append(names, fmt.Sprintf("%s%03d", prefix, i))
	}
	return names
}

var placementDecisionCases = []goldenCase{
	{name: "no rows", why: "nothing is decided: there is no object"},
	{name: "no cluster selected", why: "one empty object, as the placement controller has it", rows: Rows{Payloads: []PayloadRow{
		payload("hub1", decisionOf("thing", "", 0)), payload("hub2", decisionOf("thing", "", 0))}}},
	{name: "two hubs", why: "sorted, with OCM's name and labels, whatever the leaf hubs' objects are called", rows: Rows{Payloads: []PayloadRow{
		payload("hub2", decisionOf("thing", "", 0, "d", "a")), payload("hub1", decisionOf("thing", "", 0, "c"))}}},
	{name: "more than 100", why: "at most 100 decisions in an object", rows: Rows{Payloads: []PayloadRow{
		payload("hub1", decisionOf("thing", "", 0, numbered("a", 70)...)), payload("hub2", decisionOf("thing", "", 0, numbered("b", 40)...))}}},
	{name: "exactly 100", why: "no empty object follows a full one", rows: Rows{Payloads: []PayloadRow{
		payload("hub1", decisionOf("thing", "", 0, numbered("a", 100)...))}}},
	{name: "groups", why: "a group's decisions are together, of all hubs", rows: Rows{Payloads: []PayloadRow{
		payload("hub1", decisionOf("thing", "canary", 0, "a")), payload("hub1", decisionOf("thing", "", 1, "b")),
		payload("hub2", decisionOf("thing", "canary", 0, "c"))}}},
	{name: "a hub without canaries", why: "the same index is another group on another hub; canaries stay first, the rest last", rows: Rows{
		Payloads: []PayloadRow{payload("hub1", decisionOf("thing", "", 0, "a")),
			payload("hub2", decisionOf("thing", "canary", 0, "b")), payload("hub2", decisionOf("thing", "", 1, "c"))}}},
	{name: "one hub selected no cluster", why: "readers count on indexes without a gap", rows: Rows{Payloads: []PayloadRow{
		payload("hub1", decisionOf("thing", "", 0)), payload("hub2", decisionOf("thing", "canary", 0, "a")),
		payload("hub2", decisionOf("thing", "canary", 1, "b"))}}},
	{name: "a group of two objects", why: "they are one group, also where another hub has it divided", rows: Rows{Payloads: []PayloadRow{
		payload("hub1", decisionOf("thing", "x", 0, "a")), payload("hub1", decisionOf("thing", "x", 0, "b")),
		payload("hub2", decisionOf("thing", "x", 0, "c")), payload("hub2", decisionOf("thing", "x", 1, "d"))}}},
	{name: "labels of an older version", why: "without groups everything is in the first", rows: Rows{Payloads: []PayloadRow{
		payload("hub1", `{"metadata":{"labels":{"cluster.open-cluster-management.io/placement":"thing"}},"status":{"decisions":[{"clusterName":"a","reason":"","score":7}]}}`)}}},
	{name: "of a PlacementRule", why: "an object without the placement's label is not the placement's", rows: Rows{Payloads: []PayloadRow{
		payload("hub1", decisionOf("other", "", 0, "z")), payload("hub1", decisionOf("thing", "", 0, "a"))}}},
	{name: "stale hub", why: "an annotation names it", rows: Rows{Stale: map[string]time.Time{"hub1": since}, Payloads: []PayloadRow{
		payload("hub1", decisionOf("thing", "", 0, "a")), payload("hub2", decisionOf("thing", "", 0, "b"))}}},
	{name: "garbage", why: "less than the truth must not be written", rows: Rows{Payloads: []PayloadRow{payload("hub1", `7`)}}},
}
