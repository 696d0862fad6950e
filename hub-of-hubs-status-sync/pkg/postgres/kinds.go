package postgres

import (
	"slices"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// aggregated names the tables of a kind of the global hub.
type aggregated struct {
	kind status.Kind
	// spec is the table in schema spec with the objects. AddOnSummary has none.
	spec string
	// rows is the table in schema status with their rows.
	rows string
}

// complianceTable has a row for each cluster. Every other table has a payload for each object.
const complianceTable = "compliance"

// aggregatedKinds is in the order of Scan.
var aggregatedKinds = []aggregated{
	{status.KindPolicy, "policies", complianceTable},
	{status.KindPlacementRule, "placementrules", "placementrules"},
	{status.KindPlacement, "placements", "placements"},
	{status.KindPlacementDecision, "placements", "placementdecisions"},
	{status.KindSubscriptionStatus, "subscriptions", "subscription_statuses"},
	{status.KindSubscriptionReport, "subscriptions", "subscription_reports"},
	{status.KindAddOnSummary, "", "managedclusteraddons"},
}

// reported names the table of a kind that leaf hubs report.
type reported struct {
	kind  status.Kind
	table string
}

// managedClustersTable has an error, and neither ids nor namespaces.
const managedClustersTable = "managed_clusters"

var reportedKinds = []reported{
	{status.KindPlacementRule, "placementrules"},
	{status.KindPlacement, "placements"},
	{status.KindPlacementDecision, "placementdecisions"},
	{status.KindSubscriptionStatus, "subscription_statuses"},
	{status.KindSubscriptionReport, "subscription_reports"},
	{status.KindManagedClusterAddOn, "managedclusteraddons"},
	{status.KindManagedCluster, managedClustersTable},
}

// reportedTable returns the table of a kind, or nothing if leaf hubs do not report it.
func reportedTable(kind status.Kind) string {
	i := slices.IndexFunc(reportedKinds, func(r reported) bool { return r.kind == kind })
	if i < 0 {
		return ""
	}
	return reportedKinds[i].table
}
