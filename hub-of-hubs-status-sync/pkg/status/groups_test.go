package status

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
)

// hubsGroups are the groups of one hub as the placement controller makes them: the
// names of the strategy in their order, each divided into groups of at most a
// length, and the rest without a name.
func hubsGroups(random *rand.Rand, names []string, length int) []groupStatus {
	var groups []groupStatus
	for _, name := range append(slices.Clone(names), "") {
		for left := random.IntN(3) * random.IntN(200); left > 0; left -= length {
			groups = append(groups, groupStatus{Index: len(groups), Name: name, Clusters: min(left, length)})
		}
	}
	if len(groups) == 0 {
		groups = append(groups, groupStatus{})
	}
	return groups
}

// rowsOf are what the placement controller writes of such groups.
func rowsOf(hub string, groups []groupStatus) (placement PayloadRow, decisions []PayloadRow) {
	var flat []any
	for _, g := range groups {
		flat = append(flat, g.Name, g.Clusters)
		clusters := numbered(fmt.Sprintf("%s-%d-", hub, g.Index), g.Clusters)
		for first := 0; first == 0 || first < len(clusters); first += maxDecisions {
			part := clusters[first:min(first+maxDecisions, len(clusters))]
			decisions = append(decisions, payload(hub, decisionOf("thing", g.Name, g.Index, part...)))
		}
	}
	return payload(hub, groupsOfHub(flat...)), decisions
}

// TestGroupsAgree: whatever the hubs have, a Placement's groups are those that its
// PlacementDecisions are labelled with, their indexes have no gap, and every
// hub's groups stay in the hub's order.
func TestGroupsAgree(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		names := []string{"zulu", "alpha", "mike"}[:random.IntN(4)]
		length := []int{1000, 150, 40}[random.IntN(3)]
		var placements, decisions Rows
		for hub := range 1 + random.IntN(4) {
			one, many := rowsOf(fmt.Sprintf("hub%d", hub), hubsGroups(random, names, length))
			placements.Payloads = append(placements.Payloads, one)
			decisions.Payloads = append(decisions.Payloads, many...)
		}
		placements.Name, decisions.Name = "thing", "thing"
		objects, err := aggregatePlacementDecision(decisions, Budget)
		if err != nil {
			t.Fatal(err)
		}
		status, err := aggregatePlacement(placements, Budget)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(groupsOfObjects(t, objects), status[0].Fields[1].Value); diff != "" {
			t.Fatalf("of the labels, of the status (-labels +status):\n%s", diff)
		}
		inOrder(t, names, objects)
	}
}

// groupsOfObjects are the groups as a reader of the PlacementDecisions sees them.
func groupsOfObjects(t *testing.T, objects []Desired) any {
	t.Helper()
	var groups []any
	for _, o := range objects {
		index, err := strconv.Atoi(o.Labels[clusterv1beta1.DecisionGroupIndexLabel])
		if err != nil || index > len(groups) {
			t.Fatalf("group %d after %d groups: %v", index, len(groups), err)
		}
		if index == len(groups) {
			groups = append(groups, map[string]any{"decisionGroupIndex": int64(index), "clusterCount": int64(0), "decisions": []any{},
				"decisionGroupName": o.Labels[clusterv1beta1.DecisionGroupNameLabel]})
		}
		g := groups[index].(map[string]any)
		g["decisions"] = append(g["decisions"].([]any), o.Name)
		g["clusterCount"] = g["clusterCount"].(int64) + int64(len(o.Fields[0].Value.([]any)))
	}
	return groups
}

// inOrder checks that names come in the strategy's order, as far as a hub shows
// it, which is always so for the one without a name: it is last.
func inOrder(t *testing.T, names []string, objects []Desired) {
	t.Helper()
	unnamed := false
	for _, o := range objects {
		name := o.Labels[clusterv1beta1.DecisionGroupNameLabel]
		if unnamed && name != "" {
			t.Fatalf("group %q of %v is after the rest", name, names)
		}
		unnamed = name == ""
	}
}
