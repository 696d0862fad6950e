package status

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// LabelHostingSubscription names the Subscription of a SubscriptionStatus or a
// SubscriptionReport.
const LabelHostingSubscription = "apps.open-cluster-management.io/hosting-subscription"

// maxLabel is the maximum length of a label's value.
const maxLabel = 63

// hostingSubscription returns the value of that label: namespace.name, cut to the
// length of a label's value as the subscription controller does. A value must not
// end with punctuation, so that is cut off as well.
func hostingSubscription(rows Rows) map[string]string {
	value := rows.Namespace + "." + rows.Name
	if len(value) > maxLabel {
		value = value[:maxLabel]
	}
	return map[string]string{LabelHostingSubscription: strings.TrimRight(value, "-_.")}
}

// Phases of packages and subscriptions. Unknown is the empty string.
const (
	phaseDeployed          = "Deployed"
	phaseFailed            = "Failed"
	phasePropagationFailed = "PropagationFailed"
	phaseUnknown           = ""
)

// noTime is written for a leaf hub without a time.
const noTime = "1970-01-01T00:00:00Z"

// subscriptionStatus has the used fields of a SubscriptionStatus on a leaf hub.
type subscriptionStatus struct {
	Statuses struct {
		Packages     []unitStatus `json:"packages"`
		Subscription *struct {
			Phase          string `json:"phase"`
			Message        string `json:"message"`
			LastUpdateTime string `json:"lastUpdateTime"`
		} `json:"subscription"`
	} `json:"statuses"`
}

// unitStatus is the status of one package on one cluster.
type unitStatus struct {
	APIVersion     string `json:"apiVersion,omitempty"`
	Kind           string `json:"kind,omitempty"`
	Name           string `json:"name,omitempty"`
	Namespace      string `json:"namespace,omitempty"`
	Phase          string `json:"phase,omitempty"`
	Message        string `json:"message,omitempty"`
	LastUpdateTime string `json:"lastUpdateTime"`

	hub string
}

// aggregateSubscriptionStatus returns the SubscriptionStatus of a Subscription:
// `.statuses.packages`, those of all hubs and clusters, sorted, and
// `.statuses.subscription`: Failed if one is, otherwise unknown if one is unknown,
// otherwise Deployed, with the messages of those that are not Deployed. Deployed
// packages of a stale hub become unknown.
//
// A shortened list has failed packages first, then unknown ones, and
// AnnotationSummarised has the counts.
func aggregateSubscriptionStatus(rows Rows, budget int) ([]Desired, error) {
	all, err := decodeAll[subscriptionStatus](rows)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	var packages []unitStatus
	for _, row := range all {
		for _, unit := range row.object.Statuses.Packages {
			unit.hub = row.hub
			// The field is required.
			unit.LastUpdateTime = cmp.Or(unit.LastUpdateTime, noTime)
			if row.stale && unit.Phase == phaseDeployed {
				unit.Phase = phaseUnknown
			}
			packages = append(packages, unit)
		}
	}
	listed := unitListing.fit(packages, budget)
	summarised := leftOut(len(listed), len(packages), "packages")
	fields := append([]Field{{Path: []string{"statuses", "packages"}}}, overallPhase(all)...)
	if len(listed) > 0 {
		fields[0].Value = unitEntries(listed)
	}
	return []Desired{{
		Name: rows.Name, Labels: hostingSubscription(rows), Annotations: annotations(staleHubs(all), summarised),
		Fields: fields, Summarised: summarised,
	}}, nil
}

// unitListing orders packages by namespace, kind, name and hub, and ranks failed
// ones before unknown ones.
var unitListing = listing[unitStatus]{
	compare: func(a, b unitStatus) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.hub, b.hub), cmp.Compare(a.Phase, b.Phase),
			cmp.Compare(a.LastUpdateTime, b.LastUpdateTime), cmp.Compare(a.Message, b.Message))
	},
	rank: phaseUrgency,
	size: unitSize,
}

func phaseUrgency(unit unitStatus) int {
	switch unit.Phase {
	case phaseFailed:
		return 0
	case phasePropagationFailed:
		return 1
	case phaseDeployed:
		return 3
	default:
		return 2
	}
}

func unitSize(unit unitStatus) int {
	text, err := json.Marshal(unit)
	if err != nil { // A struct of strings has no such error.
		return 0
	}
	return len(text) + 1
}

func unitEntries(units []unitStatus) []any {
	entries := make([]any, 0, len(units))
	for _, unit := range units {
		entry := map[string]any{"lastUpdateTime": unit.LastUpdateTime}
		for key, value := range map[string]string{"apiVersion": unit.APIVersion, "kind": unit.Kind, "name": unit.Name,
			"namespace": unit.Namespace, "phase": unit.Phase, "message": unit.Message} {
			if value != "" {
				entry[key] = value
			}
		}
		entries = append(entries, entry)
	}
	return entries
}

// overallPhase returns the fields of `.statuses.subscription`. They have no value
// when no row has one.
func overallPhase(all []decoded[subscriptionStatus]) []Field {
	found, failed, unknown := false, false, false
	var messages []string
	latest := ""
	for _, row := range all {
		overall := row.object.Statuses.Subscription
		if overall == nil {
			continue
		}
		found = true
		message := overall.Message
		switch {
		case overall.Phase == phaseFailed:
			failed = true
		case overall.Phase == phaseDeployed && !row.stale:
			message = ""
		default:
			unknown = true
		}
		if message != "" {
			messages = append(messages, row.hub+": "+message)
		}
		// RFC 3339 times in UTC sort as strings.
		latest = max(latest, overall.LastUpdateTime)
	}
	// Each key is a field, so that a removed one is cleared.
	fields := []Field{
		{Path: []string{"statuses", "subscription", "lastUpdateTime"}},
		{Path: []string{"statuses", "subscription", "message"}},
		{Path: []string{"statuses", "subscription", "phase"}},
	}
	if latest != "" {
		fields[0].Value = latest
	}
	if len(messages) > 0 {
		fields[1].Value = bounded(messages, "; ")
	}
	switch {
	case failed:
		fields[2].Value = phaseFailed
	case found && !unknown:
		fields[2].Value = phaseDeployed
	}
	return fields
}

// Results of a subscription on a cluster.
const (
	resultDeployed          = "deployed"
	resultFailed            = "failed"
	resultPropagationFailed = "propagationFailed"
)

// reportCluster is the type of reports about one cluster with all its
// subscriptions. They are skipped, because they are not about one Subscription.
const (
	reportApplication = "Application"
	reportCluster     = "Cluster"
)

// subscriptionReport has the used fields of a SubscriptionReport on a leaf hub.
type subscriptionReport struct {
	ReportType string            `json:"reportType"`
	Summary    map[string]string `json:"summary"`
	Results    []reportResult    `json:"results"`
	Resources  []map[string]any  `json:"resources"`
}

type reportResult struct {
	Source    string `json:"source"`
	Result    string `json:"result,omitempty"`
	Timestamp *struct {
		Seconds int64 `json:"seconds"`
		Nanos   int64 `json:"nanos"`
	} `json:"timestamp,omitempty"`

	hub string
}

// summaryFields maps each count of a report to whether the count of a stale hub is
// included. Deployed clusters of a stale hub are not.
var summaryFields = []struct {
	name      string
	whenStale bool
}{
	{"clusters", true}, {"deployed", false}, {"failed", true}, {"inProgress", false}, {"propagationFailed", true},
}

// aggregateSubscriptionReport returns the SubscriptionReport of a Subscription:
// `.summary`, the sums of all hubs, `.results`, those of all hubs sorted by source
// and hub, and `.resources`, without duplicates. The clusters of a stale hub count,
// but not as deployed or in progress, and its deployed results have no result.
//
// A shortened list has failed results first, then those without a result, and
// AnnotationSummarised has the counts.
func aggregateSubscriptionReport(rows Rows, budget int) ([]Desired, error) {
	all, err := decodeAll[subscriptionReport](rows)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(row decoded[subscriptionReport]) bool { return row.object.ReportType == reportCluster })
	if len(all) == 0 {
		return nil, nil
	}
	summary, err := reportSummary(all)
	if err != nil {
		return nil, err
	}
	results := reportResults(all)
	listed := resultListing.fit(results, budget)
	summarised := leftOut(len(listed), len(results), "results")
	fields := append([]Field{
		{Path: []string{"reportType"}, Value: reportApplication},
		{Path: []string{"resources"}, Value: reportResources(all)},
		{Path: []string{"results"}},
	}, summary...)
	if len(listed) > 0 {
		fields[2].Value = resultEntries(listed)
	}
	return []Desired{{
		Name: rows.Name, Labels: hostingSubscription(rows), Annotations: annotations(staleHubs(all), summarised),
		Fields: fields, Summarised: summarised,
	}}, nil
}

func reportSummary(all []decoded[subscriptionReport]) ([]Field, error) {
	sums := make([]Field, 0, len(summaryFields))
	var errs []error
	for _, field := range summaryFields {
		sum := int64(0)
		for _, row := range all {
			text := row.object.Summary[field.name]
			if text == "" || (row.stale && !field.whenStale) {
				continue
			}
			number, err := strconv.ParseInt(text, 10, 32)
			if err != nil {
				errs = append(errs, fmt.Errorf("read summary.%s of leaf hub %q: %w", field.name, row.hub, err))
			}
			// A hub computes this count from two sources at different times, so it can be negative.
			sum += max(0, number)
		}
		sums = append(sums, Field{Path: []string{"summary", field.name}, Value: strconv.FormatInt(sum, 10)})
	}
	return sums, errors.Join(errs...)
}

func reportResults(all []decoded[subscriptionReport]) []reportResult {
	var results []reportResult
	for _, row := range all {
		for _, result := range row.object.Results {
			result.hub = row.hub
			if row.stale && result.Result == resultDeployed {
				result.Result = ""
			}
			results = append(results, result)
		}
	}
	return results
}

// resultListing orders results by source and hub, and ranks failed ones before
// those without a result.
var resultListing = listing[reportResult]{
	compare: func(a, b reportResult) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.hub, b.hub), cmp.Compare(a.Result, b.Result))
	},
	rank: resultUrgency,
	size: resultSize,
}

func resultUrgency(result reportResult) int {
	switch result.Result {
	case resultFailed:
		return 0
	case resultPropagationFailed:
		return 1
	case resultDeployed:
		return 3
	default:
		return 2
	}
}

func resultSize(result reportResult) int {
	// The timestamp has at most 47 bytes.
	return len(`{"result":"","source":"","timestamp":{"nanos":999999999,"seconds":9999999999}},`) +
		len(result.Source) + len(result.Result)
}

func resultEntries(results []reportResult) []any {
	entries := make([]any, 0, len(results))
	for _, r := range results {
		entry := map[string]any{"source": r.Source}
		if r.Result != "" {
			entry["result"] = r.Result
		}
		if r.Timestamp != nil {
			entry["timestamp"] = map[string]any{"seconds": r.Timestamp.Seconds, "nanos": r.Timestamp.Nanos}
		}
		entries = append(entries, entry)
	}
	return entries
}

// maxResources bounds the list of resources, which is normally the same on every
// hub.
const maxResources = 1000

func reportResources(all []decoded[subscriptionReport]) any {
	unique := map[string]map[string]any{}
	for _, row := range all {
		for _, resource := range row.object.Resources {
			if text, err := json.Marshal(resource); err == nil {
				unique[string(text)] = resource
			}
		}
	}
	texts := make([]string, 0, len(unique))
	for text := range unique {
		texts = append(texts, text)
	}
	slices.Sort(texts)
	if len(texts) == 0 {
		return nil
	}
	resources := make([]any, 0, len(texts))
	for _, text := range texts[:min(len(texts), maxResources)] {
		resources = append(resources, any(unique[text]))
	}
	return resources
}
