package status

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Results of a subscription on a cluster.
const (
	resultDeployed          = "deployed"
	resultFailed            = "failed"
	resultPropagationFailed = "propagationFailed"
)

// reportCluster is the type of the reports about one cluster and all its
// subscriptions; they are not about a Subscription.
const (
	reportApplication = "Application"
	reportCluster     = "Cluster"
)

// subscriptionReport is what matters of a SubscriptionReport on a leaf hub.
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

// summaryFields are the counts of a report. The second says whether a stale
// hub's count still counts: what is deployed there is not known to be so.
var summaryFields = []struct {
	name      string
	whenStale bool
}{
	{"clusters", true}, {"deployed", false}, {"failed", true}, {"inProgress", false}, {"propagationFailed", true},
}

// aggregateSubscriptionReport makes the SubscriptionReport of a Subscription:
// `.summary`, the sums of all hubs, `.results`, those of all hubs sorted by
// source and hub, and `.resources`, each once. A stale hub's clusters are
// counted, but not as deployed or in progress, and its deployed results are
// listed without a result.
//
// When not all results fit, failed ones are listed first, then those without a
// result; the annotation AnnotationSummarised has the numbers.
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
			// What a hub counts from two sources at different times can be below zero.
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

// resultListing lists results by source and hub, failed ones before those
// without a result.
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
	// The timestamp is at most 47 bytes.
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

// maxResources bounds the list of resources, which is the same on every hub but
// for a mistake.
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
