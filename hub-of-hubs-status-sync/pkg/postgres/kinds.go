package postgres

import (
	"slices"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/manifests"
)

// aggregated names the tables of a kind of the global hub.
type aggregated struct {
	kind status.Kind
	// spec is the table in schema spec with the objects. AddOnSummary has none.
	spec string
	// rows is the table in schema status with their rows.
	rows string
	// only is the id of the only object of a kind without a table in schema spec. Rows about another one do not count: each
	// leaf hub may write rows of any name, and must not make the sync create objects.
	only string
}

// tables returns the tables with the kind's objects and rows.
func (a aggregated) tables() []string {
	if a.spec == "" {
		return []string{"status." + a.rows}
	}
	return []string{"spec." + a.spec, "status." + a.rows}
}

// complianceTable has a row for each cluster. Every other table has a payload for each object.
const complianceTable = "compliance"

// aggregatedKinds is in the order of Scan.
var aggregatedKinds = []aggregated{
	{kind: status.KindPolicy, spec: "policies", rows: complianceTable},
	{kind: status.KindPlacementRule, spec: "placementrules", rows: "placementrules"},
	{kind: status.KindPlacement, spec: "placements", rows: "placements"},
	{kind: status.KindPlacementDecision, spec: "placements", rows: "placementdecisions"},
	{kind: status.KindSubscriptionStatus, spec: "subscriptions", rows: "subscription_statuses"},
	{kind: status.KindSubscriptionReport, spec: "subscriptions", rows: "subscription_reports"},
	{kind: status.KindAddOnSummary, rows: "managedclusteraddons", only: manifests.AddonName},
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
