package status

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// since is a stale hub's last heartbeat.
var since = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// goldenCase is one case of an aggregate; why says which rule it is about.
type goldenCase struct {
	name, why string
	rows      Rows
	budget    int
}

func payload(hub, text string) PayloadRow { return PayloadRow{LeafHub: hub, Payload: []byte(text)} }

func comply(hub, cluster, compliance string) ComplianceRow {
	return ComplianceRow{LeafHub: hub, Cluster: cluster, Error: "none", Compliance: compliance}
}

// allCases are the golden cases by the name of their file.
var allCases = []struct {
	file  string
	kind  Kind
	cases []goldenCase
}{
	{"policy", KindPolicy, policyCases},
	{"placementrule", KindPlacementRule, placementRuleCases},
	{"placement", KindPlacement, placementCases},
	{"placementgroups", KindPlacement, placementGroupCases},
	{"placementdecision", KindPlacementDecision, placementDecisionCases},
	{"subscriptionstatus", KindSubscriptionStatus, subscriptionStatusCases},
	{"subscriptionreport", KindSubscriptionReport, subscriptionReportCases},
	{"addonsummary", KindAddOnSummary, addOnCases},
}

func TestAggregates(t *testing.T) {
	for _, golden := range allCases {
		kind, cases := golden.kind, golden.cases
		t.Run(golden.file, func(t *testing.T) {
			got := map[string]any{}
			for _, c := range cases {
				desired, err := aggregateOf(kind)(withDefaults(c))
				mergeable(t, desired)
				result := map[string]any{"why": c.why, "objects": readable(desired)}
				if err != nil {
					result["error"] = err.Error()
				}
				got[c.name] = result
			}
			if len(got) != len(cases) {
				t.Fatal("two cases have one name")
			}
			compareGolden(t, golden.file, got)
		})
	}
}

// TestAggregatesIgnoreOrder: the database returns rows in any order, and what is
// written must not change with it.
func TestAggregatesIgnoreOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, golden := range allCases {
		kind := golden.kind
		for _, c := range golden.cases {
			want, err := aggregateOf(kind)(withDefaults(c))
			if err != nil {
				continue
			}
			for range 20 {
				random.Shuffle(len(c.rows.Compliance), func(i, j int) {
					c.rows.Compliance[i], c.rows.Compliance[j] = c.rows.Compliance[j], c.rows.Compliance[i]
				})
				random.Shuffle(len(c.rows.Payloads), func(i, j int) {
					c.rows.Payloads[i], c.rows.Payloads[j] = c.rows.Payloads[j], c.rows.Payloads[i]
				})
				got, err := aggregateOf(kind)(withDefaults(c))
				if err != nil {
					t.Fatalf("%s, %s: %v", kind, c.name, err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%s, %s: the order of the rows matters (-want +got):\n%s", kind, c.name, diff)
				}
			}
		}
	}
}

// TestAggregatesFit: whatever there is, no object's fields outgrow the budget.
func TestAggregatesFit(t *testing.T) {
	rows := Rows{Namespace: "ns", Name: "big"}
	for hub := range 4 {
		var decisions, packages, results []string
		name := fmt.Sprintf("hub%d", hub)
		for i := range 5000 {
			cluster := fmt.Sprintf("cluster-with-a-long-name-%d-%05d", hub, i)
			rows.Compliance = append(rows.Compliance, comply(name, cluster, []string{"compliant", "unknown", "non_compliant"}[i%3]))
			decisions = append(decisions, fmt.Sprintf(`{"clusterName":%q,"clusterNamespace":%q}`, cluster, cluster))
			packages = append(packages, fmt.Sprintf(`{"name":%q,"message":"a \"quoted\"\nmessage","phase":"Failed","lastUpdateTime":"2026-01-01T00:00:00Z"}`, cluster))
			results = append(results, fmt.Sprintf(`{"source":%q,"result":"deployed","timestamp":{"seconds":1,"nanos":2}}`, cluster))
		}
		rows.Payloads = append(rows.Payloads, payload(name, fmt.Sprintf(`{"status":{"decisions":[%s]},"statuses":{"packages":[%s]},"results":[%s]}`,
			strings.Join(decisions, ","), strings.Join(packages, ","), strings.Join(results, ","))))
	}
	for _, kind := range []Kind{KindPolicy, KindPlacementRule, KindSubscriptionStatus, KindSubscriptionReport} {
		for _, budget := range []int{10_000, 1 << 18, Budget} {
			desired, err := entryOf(kind).Aggregate(rows, budget)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(desired[0].Fields)
			if err != nil {
				t.Fatal(err)
			}
			// What is not the list: counts, names of fields, the summary.
			if room := min(budget, summaryBudget) + 1024; desired[0].Summarised != "" && len(text) > room || len(text) > budget+1024 {
				t.Errorf("%s: %d bytes with a budget of %d", kind, len(text), budget)
			}
			if least := min(budget, summaryBudget) / 2; len(text) < least {
				t.Errorf("%s: only %d bytes are used of a budget of %d", kind, len(text), budget)
			}
		}
	}
}

// mergeable fails the test if a field could not be written by a merge.
func mergeable(t *testing.T, desired []Desired) {
	t.Helper()
	for _, d := range desired {
		for _, f := range d.Fields {
			if _, isMap := f.Value.(map[string]any); isMap {
				t.Errorf("field %v is a map: what it no longer has would stay in the object", f.Path)
			}
		}
	}
}

func entryOf(kind Kind) Entry {
	for _, entry := range Entries() {
		if entry.Kind == kind {
			return entry
		}
	}
	return Entry{}
}

func aggregateOf(kind Kind) func(Rows, int) ([]Desired, error) { return entryOf(kind).Aggregate }

func withDefaults(c goldenCase) (Rows, int) {
	c.rows.Namespace, c.rows.Name = "ns", "thing"
	if c.budget == 0 {
		c.budget = Budget
	}
	return c.rows, c.budget
}

// readable is what a person reviews.
func readable(desired []Desired) []any {
	objects := []any{}
	for _, d := range desired {
		fields := map[string]any{}
		for _, f := range d.Fields {
			fields[strings.Join(f.Path, ".")] = f.Value
		}
		object := map[string]any{"name": d.Name, "fields": fields}
		for key, value := range map[string]any{"labels": d.Labels, "annotations": d.Annotations} {
			if len(value.(map[string]string)) > 0 {
				object[key] = value
			}
		}
		for key, value := range map[string]string{"summarised": d.Summarised, "note": d.Note} {
			if value != "" {
				object[key] = value
			}
		}
		objects = append(objects, object)
	}
	return objects
}

func compareGolden(t *testing.T, name string, got any) {
	t.Helper()
	text, err := json.MarshalIndent(got, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	file := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("%s (-want +got); run with -update if it is meant:\n%s", file, diff)
	}
}
