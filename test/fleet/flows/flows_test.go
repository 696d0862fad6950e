package flows

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/test/fleet/scrape"
)

func TestCount(t *testing.T) {
	text := Dispatched + `{flow_schema="fleet-controller-0",priority_level="workload-low"} 7
` + Dispatched + `{flow_schema="fleet-controller-6",priority_level="workload-low"} 10
` + Dispatched + `{flow_schema="fleet-controller-99",priority_level="workload-low"} 1
` + Dispatched + `{flow_schema="fleet-agents-0",priority_level="global-default"} 100
` + Dispatched + `{flow_schema="service-accounts",priority_level="workload-low"} 1000
`
	metrics, err := scrape.Parse([]byte(text), Dispatched)
	if err != nil {
		t.Fatal(err)
	}
	got := (&Counter{Options{Program: "controller", Kinds: Controller}}).Count(metrics)
	if diff := cmp.Diff(Counts{Leases: 7, "patch managedclusteraddons/status": 10}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if sum := got.Sum(Leases); sum != 10 {
		t.Errorf("without leases: %v", sum)
	}
	since := Counts{"a": 5, "b": 3}.Since(Counts{"a": 2, "b": 9})
	if diff := cmp.Diff(Counts{"a": 3, "b": 3}, since); diff != "" {
		t.Errorf("since, where b was counted from zero again (-want +got):\n%s", diff)
	}
}

// TestKinds: every request is of one kind, and no two kinds of a program have one name.
func TestKinds(t *testing.T) {
	for _, kinds := range [][]Kind{Controller, ReplicaSets} {
		var all []string
		for _, k := range kinds {
			all = append(all, k.Name())
		}
		for _, name := range Upkeep {
			if !slices.Contains(all, name) {
				t.Errorf("no kind of a controller's requests is called %q", name)
			}
		}
	}
	for program, kinds := range map[string][]Kind{"controller": Controller, "agents": Agents, "replicasets": ReplicaSets} {
		names := map[string]bool{}
		for _, k := range kinds {
			if names[k.Name()] {
				t.Errorf("%s: two kinds are called %q", program, k.Name())
			}
			names[k.Name()] = true
		}
		if last := kinds[len(kinds)-1]; last != (Kind{"*", "*", "*"}) {
			t.Errorf("%s: the last kind does not fit every request: %v", program, last)
		}
		schemas := Options{Program: program, Kinds: kinds, Level: "workload-low", Precedence: 100}.schemas()
		for i, schema := range schemas {
			if other := len(schema.Spec.Rules[0].NonResourceRules) > 0; other != (i == len(schemas)-1) {
				t.Errorf("%s: FlowSchema %d counts requests without a resource: %v", program, i, other)
			}
		}
	}
}
