package status

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Budget is the size in bytes of JSON from which a status is summarised. etcd
// accepts objects of 1.5 MiB (https://etcd.io/docs/v3.5/dev-guide/limit/). The
// rest is for the object's spec, metadata and managed fields.
const Budget = 1 << 20

// Rows holds the rows of one object of the global hub, read under one snapshot.
// Their order does not matter.
type Rows struct {
	// Namespace, Name and UID are those of the object on the global hub, or of its
	// owner for a kind that the syncer creates.
	Namespace, Name, UID string
	Compliance           []ComplianceRow
	Payloads             []PayloadRow
	// Stale maps each stale leaf hub to its last heartbeat.
	Stale map[string]time.Time
}

// Desired is the status that one object of the global hub should have.
type Desired struct {
	// Name is the name of the object. Its namespace is that of the rows.
	Name string
	// Labels and Annotations are set on kinds that the syncer creates.
	Labels, Annotations map[string]string
	// Fields lists the fields to write. Every other field belongs to other writers.
	Fields []Field
	// Summarised describes a list that was shortened to fit into an object, for
	// example "11000 of 100000 clusters listed". It is empty for a complete list.
	Summarised string
	// Note is the text of an event, for facts that the object has no field for.
	Note string
}

// Field is a field of an object with its value: a string, a boolean, an int64, a
// slice of JSON values, or nil if the field must be absent. The value is not a
// map: a write merges, so a key that was removed from a map would stay. Each key
// of a map is a field of its own.
type Field struct {
	Path  []string
	Value any
}

// Aggregate computes the desired objects from the rows. It depends on nothing but
// the rows. budget is the maximum size of one object's fields in bytes of JSON.
// An error means that a row cannot be decoded. Then nothing may be written,
// because the result would be incomplete.
type Aggregate func(rows Rows, budget int) ([]Desired, error)

// Annotations on the objects that the syncer creates. Other kinds have a field for
// the same fact, or get an event.
const (
	// AnnotationStale lists the stale leaf hubs.
	AnnotationStale = "hub-of-hubs.open-cluster-management.io/stale-leaf-hubs"
	// AnnotationSummarised has the value of Desired.Summarised.
	AnnotationSummarised = "hub-of-hubs.open-cluster-management.io/summarised"
)

// decode decodes the payload of a row into the fields that the aggregate uses.
func decode[T any](row PayloadRow) (T, error) {
	var object *T
	var zero T
	if err := json.Unmarshal(row.Payload, &object); err != nil {
		return zero, fmt.Errorf("read the row of leaf hub %q: %w", row.LeafHub, err)
	}
	if object == nil {
		return zero, fmt.Errorf("read the row of leaf hub %q: %w", row.LeafHub, errNoObject)
	}
	return *object, nil
}

var errNoObject = errors.New("its payload is null, not an object")

// decoded is a row's payload with its leaf hub.
type decoded[T any] struct {
	hub    string
	stale  bool
	count  int64
	object T
}

// decodeAll decodes all rows, sorted by hub and then by payload, so that the order
// of the database does not matter. Its error has every problem.
func decodeAll[T any](rows Rows) ([]decoded[T], error) {
	payloads := slices.Clone(rows.Payloads)
	slices.SortFunc(payloads, func(a, b PayloadRow) int {
		if c := strings.Compare(a.LeafHub, b.LeafHub); c != 0 {
			return c
		}
		return slices.Compare(a.Payload, b.Payload)
	})
	all := make([]decoded[T], 0, len(payloads))
	var errs []error
	for _, row := range payloads {
		object, err := decode[T](row)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		_, stale := rows.Stale[row.LeafHub]
		all = append(all, decoded[T]{hub: row.LeafHub, stale: stale, count: max(row.Count, 1), object: object})
	}
	return all, errors.Join(errs...)
}

// staleHubs returns the stale ones of the hubs, sorted and without duplicates.
func staleHubs[T any](all []decoded[T]) []string {
	var hubs []string
	for _, row := range all {
		if row.stale {
			hubs = append(hubs, row.hub)
		}
	}
	slices.Sort(hubs)
	return slices.Compact(hubs)
}

// annotations returns the annotations of an object that the syncer creates.
func annotations(stale []string, summarised string) map[string]string {
	result := map[string]string{}
	if len(stale) > 0 {
		result[AnnotationStale] = bounded(stale, ",")
	}
	if summarised != "" {
		result[AnnotationSummarised] = summarised
	}
	return result
}

// The limits of texts: 1024 bytes is the limit of an event's note
// (https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/).
const (
	maxNames = 10
	maxText  = 1024
)

// bounded joins at most maxNames texts to at most maxText bytes, and appends how many more there are.
func bounded(texts []string, separator string) string {
	rest := 0
	if len(texts) > maxNames {
		texts, rest = texts[:maxNames], len(texts)-maxNames
	}
	text := strings.Join(texts, separator)
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	if rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}

// Entry describes a kind of status to the syncer. A new kind is a new entry with
// its aggregate.
type Entry struct {
	Kind Kind
	// Object is the written kind, Resource its plural.
	Object   schema.GroupVersionKind
	Resource string
	// Owner is the kind of the controller owner of the written objects. It is empty
	// if they have none.
	Owner schema.GroupVersionKind
	// Creates is true if the syncer creates and deletes the objects.
	Creates bool
	// Subresource is true if the fields are written to the status subresource.
	Subresource bool
	Aggregate   Aggregate
}

// The kinds of the objects that are read or written.
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

// Entries returns all kinds of status.
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

// summaryBudget is the size of a shortened list in bytes of JSON, about 1,300
// clusters. Such a write costs the API server less than 0.1 s of CPU. A list of
// 1 MiB costs a second, each time that a cluster changes.
const summaryBudget = 128 << 10

// listing defines the order and the priority of a list's entries.
type listing[T any] struct {
	// compare orders the entries of the result.
	compare func(a, b T) int
	// rank returns 0 for the most urgent entries.
	rank func(T) int
	// size returns an entry's size in bytes of JSON.
	size func(T) int
}

// fit returns the entries to list, in their order: all of them if they fit into
// the budget, otherwise as many as fit into the summary's budget, by rank and
// within a rank by order. It sorts the given entries if they all fit.
//
// This is the rule for every status that exceeds an object: counts and overall
// states are always of all rows, and only the list is shortened.
func (l listing[T]) fit(entries []T, budget int) []T {
	total, smallest := 0, 1<<30
	for _, entry := range entries {
		size := l.size(entry)
		total, smallest = total+size, min(smallest, size)
	}
	if total <= budget {
		slices.SortFunc(entries, l.compare)
		return entries
	}
	budget = min(budget, summaryBudget)
	chosen := first(entries, budget/max(1, smallest), func(a, b T) int {
		return cmp.Or(cmp.Compare(l.rank(a), l.rank(b)), l.compare(a, b))
	})
	used, kept := 0, 0
	for _, entry := range chosen {
		if used += l.size(entry); used > budget {
			break
		}
		kept++
	}
	chosen = chosen[:kept]
	slices.SortFunc(chosen, l.compare)
	return chosen
}

// first returns the n smallest entries, sorted. Of a million entries it sorts only
// a few thousand.
func first[T any](entries []T, n int, compare func(a, b T) int) []T {
	if n <= 0 {
		return nil
	}
	var kept []T
	for _, entry := range entries {
		if len(kept) >= n && compare(entry, kept[n-1]) >= 0 {
			continue // kept[:n] is sorted, and the entry is not smaller than its last one
		}
		if kept = append(kept, entry); len(kept) == n || len(kept) == 2*n {
			slices.SortFunc(kept, compare)
			kept = kept[:n]
		}
	}
	slices.SortFunc(kept, compare)
	return kept[:min(n, len(kept))]
}

// leftOut returns the text of a shortened list, or nothing for a complete one.
func leftOut(kept, all int, what string) string {
	if kept == all {
		return ""
	}
	return fmt.Sprintf("%d of %d %s listed", kept, all, what)
}
