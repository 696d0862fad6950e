package postgres

import (
	"slices"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// aggregated is where the rows of a kind of the global hub are.
type aggregated struct {
	kind status.Kind
	// spec is the table in schema spec that has the objects; an AddOnSummary has none.
	spec string
	// rows is the table in schema status that has their rows.
	rows string
}

// complianceTable is the one table with a row for each cluster; the others have a payload for each object.
const complianceTable = "compliance"

// aggregatedKinds are in the order in which Scan goes.
var aggregatedKinds = []aggregated{
	{status.KindPolicy, "policies", complianceTable},
	{status.KindPlacementRule, "placementrules", "placementrules"},
	{status.KindPlacement, "placements", "placements"},
	{status.KindPlacementDecision, "placements", "placementdecisions"},
	{status.KindSubscriptionStatus, "subscriptions", "subscription_statuses"},
	{status.KindSubscriptionReport, "subscriptions", "subscription_reports"},
	{status.KindAddOnSummary, "", "managedclusteraddons"},
}

// reported is where the objects of a kind go that a leaf hub reports.
type reported struct {
	kind  status.Kind
	table string
}

// managedClustersTable has neither ids nor namespaces, but an error.
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

// reportedTable returns the table of a kind, empty where a leaf hub does not report it.
func reportedTable(kind status.Kind) string {
	i := slices.IndexFunc(reportedKinds, func(r reported) bool { return r.kind == kind })
	if i < 0 {
		return ""
	}
	return reportedKinds[i].table
}
