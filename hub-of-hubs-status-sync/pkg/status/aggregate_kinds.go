package status

import "k8s.io/apimachinery/pkg/runtime/schema"

// Entry says everything that the engine has to know about a kind of status.
// Another kind is another entry and its aggregate.
type Entry struct {
	Kind Kind
	// Object is the kind that is written, Resource its plural.
	Object   schema.GroupVersionKind
	Resource string
	// Owner is the kind of the object that owns the written ones, as their
	// controller; empty: they have none.
	Owner schema.GroupVersionKind
	// Creates says that the syncer creates the objects, and deletes those that
	// are no longer wanted.
	Creates bool
	// Subresource says that what is written is in the status subresource.
	Subresource bool
	Aggregate   Aggregate
}

// GroupVersionKinds of the objects that are read or written.
var (
	policyGVK             = schema.GroupVersionKind{Group: "policy.open-cluster-management.io", Version: "v1", Kind: "Policy"}
	placementRuleGVK      = schema.GroupVersionKind{Group: "apps.open-cluster-management.io", Version: "v1", Kind: "PlacementRule"}
	subscriptionGVK       = schema.GroupVersionKind{Group: "apps.open-cluster-management.io", Version: "v1", Kind: "Subscription"}
	subscriptionStatusGVK = schema.GroupVersionKind{Group: "apps.open-cluster-management.io", Version: "v1alpha1", Kind: "SubscriptionStatus"}
	subscriptionReportGVK = schema.GroupVersionKind{Group: "apps.open-cluster-management.io", Version: "v1alpha1", Kind: "SubscriptionReport"}
	placementGVK          = schema.GroupVersionKind{Group: "cluster.open-cluster-management.io", Version: "v1beta1", Kind: "Placement"}
	placementDecisionGVK  = schema.GroupVersionKind{Group: "cluster.open-cluster-management.io", Version: "v1beta1", Kind: "PlacementDecision"}
	addOnSummaryGVK       = schema.GroupVersionKind{Group: "helloworld.open-cluster-management.io", Version: "v1alpha1", Kind: "AddOnSummary"}
)

// Entries are all kinds of status.
func Entries() []Entry {
	return []Entry{
		{Kind: KindPolicy, Object: policyGVK, Resource: "policies", Subresource: true, Aggregate: aggregatePolicy},
		{Kind: KindPlacementRule, Object: placementRuleGVK, Resource: "placementrules", Subresource: true, Aggregate: aggregatePlacementRule},
		{Kind: KindPlacement, Object: placementGVK, Resource: "placements", Subresource: true, Aggregate: aggregatePlacement},
		{Kind: KindPlacementDecision, Object: placementDecisionGVK, Resource: "placementdecisions", Owner: placementGVK,
			Creates: true, Subresource: true, Aggregate: aggregatePlacementDecision},
		{Kind: KindSubscriptionStatus, Object: subscriptionStatusGVK, Resource: "subscriptionstatuses", Owner: subscriptionGVK,
			Creates: true, Aggregate: aggregateSubscriptionStatus},
		{Kind: KindSubscriptionReport, Object: subscriptionReportGVK, Resource: "subscriptionreports", Owner: subscriptionGVK,
			Creates: true, Aggregate: aggregateSubscriptionReport},
		{Kind: KindAddOnSummary, Object: addOnSummaryGVK, Resource: "addonsummaries", Creates: true, Subresource: true, Aggregate: aggregateAddOn},
	}
}
