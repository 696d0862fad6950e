package status

import (
	"cmp"
	"fmt"
)

// Values of the columns compliance and error.
const (
	complianceCompliant    = "compliant"
	complianceNonCompliant = "non_compliant"
	errorDisconnected      = "disconnected"
)

// Values of a Policy's compliance. Unknown is the empty string, as in the policy
// propagator.
const (
	policyCompliant    = "Compliant"
	policyNonCompliant = "NonCompliant"
	policyUnknown      = ""
)

// policySummary is the name of the entry in `.status.details` of a Policy with a
// shortened list. A root policy has no other details.
const policySummary = "hub-of-hubs-summary"

// cluster is the compliance of a managed cluster.
type cluster struct{ hub, name, compliance string }

// aggregatePolicy returns `.status.status`, the compliance of each cluster, sorted
// by cluster and then by hub, and `.status.compliant`, the whole policy's:
// NonCompliant if one cluster is, otherwise unknown if one is unknown, otherwise
// Compliant, and unknown without clusters. This is the rule of
// CalculateRootCompliance in
// https://github.com/open-cluster-management-io/governance-policy-propagator/blob/v0.16.0/controllers/common/common.go.
//
// The compliance of a cluster that is disconnected, or whose hub is stale, becomes
// unknown. Its non-compliance stays.
//
// A shortened list has NonCompliant clusters before unknown ones and those before
// Compliant ones, and `.status.details` has the counts.
func aggregatePolicy(rows Rows, budget int) ([]Desired, error) {
	clusters := make([]cluster, 0, len(rows.Compliance))
	count := map[string]int{}
	for _, row := range rows.Compliance {
		_, stale := rows.Stale[row.LeafHub]
		state := compliance(row, stale)
		count[state]++
		clusters = append(clusters, cluster{row.LeafHub, row.Cluster, state})
	}
	listed := clusterListing.fit(clusters, budget)
	desired := Desired{Name: rows.Name, Summarised: leftOut(len(listed), len(clusters), "clusters")}

	var entries, details any
	if len(listed) > 0 {
		entries = clusterEntries(listed)
	}
	var overall any
	if state := overallCompliance(count, len(clusters)); state != policyUnknown {
		overall = state
	}
	if desired.Summarised != "" {
		details = summaryDetails(overall, fmt.Sprintf("%s: %d NonCompliant, %d unknown, %d Compliant", desired.Summarised,
			count[policyNonCompliant], count[policyUnknown], count[policyCompliant]))
	}
	desired.Fields = []Field{
		{Path: []string{"status", "compliant"}, Value: overall},
		{Path: []string{"status", "details"}, Value: details},
		{Path: []string{"status", "status"}, Value: entries},
	}
	return []Desired{desired}, nil
}

func compliance(row ComplianceRow, stale bool) string {
	switch {
	case row.Compliance == complianceNonCompliant:
		return policyNonCompliant
	case row.Compliance == complianceCompliant && row.Error != errorDisconnected && !stale:
		return policyCompliant
	default:
		return policyUnknown
	}
}

func overallCompliance(count map[string]int, clusters int) string {
	switch {
	case count[policyNonCompliant] > 0:
		return policyNonCompliant
	case clusters > 0 && count[policyCompliant] == clusters:
		return policyCompliant
	default:
		return policyUnknown
	}
}

// clusterListing orders clusters by name, and ranks NonCompliant ones before unknown ones.
var clusterListing = listing[cluster]{
	compare: func(a, b cluster) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.hub, b.hub), cmp.Compare(a.compliance, b.compliance))
	},
	rank: urgency,
	size: clusterSize,
}

func urgency(c cluster) int {
	switch c.compliance {
	case policyNonCompliant:
		return 0
	case policyUnknown:
		return 1
	default:
		return 2
	}
}

func clusterSize(c cluster) int {
	size := len(`{"clustername":"","clusternamespace":""},`) + 2*len(c.name)
	if c.compliance != policyUnknown {
		size += len(`,"compliant":""`) + len(c.compliance)
	}
	return size
}

func clusterEntries(clusters []cluster) []any {
	entries := make([]any, 0, len(clusters))
	for _, c := range clusters {
		// The namespace of a cluster on its hub is the cluster's name.
		entry := map[string]any{"clustername": c.name, "clusternamespace": c.name}
		if c.compliance != policyUnknown {
			entry["compliant"] = c.compliance
		}
		entries = append(entries, entry)
	}
	return entries
}

func summaryDetails(overall any, message string) []any {
	detail := map[string]any{
		"templateMeta": map[string]any{"name": policySummary},
		"history":      []any{map[string]any{"message": message}},
	}
	if overall != nil {
		detail["compliant"] = overall
	}
	return []any{detail}
}
