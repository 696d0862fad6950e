package requests

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
)

const metrics = `# HELP apiserver_flowcontrol_dispatched_requests_total [BETA] Number of requests
# TYPE apiserver_flowcontrol_dispatched_requests_total counter
apiserver_flowcontrol_dispatched_requests_total{flow_schema="bench-agent-lease",priority_level="workload-low"} 12
apiserver_flowcontrol_dispatched_requests_total{flow_schema="bench-agent-watch",priority_level="workload-low"} 3
apiserver_flowcontrol_dispatched_requests_total{flow_schema="bench-controller-read",priority_level="workload-low"} 99
apiserver_flowcontrol_dispatched_requests_total{flow_schema="service-accounts",priority_level="workload-low"} 1.234e+03
apiserver_request_total{code="200",verb="GET"} 5
`

func TestParse(t *testing.T) {
	got, err := parse([]byte(metrics), "agent")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Counts{Lease: 12, Watch: 3}, got); diff != "" {
		t.Errorf("only the agent's requests count (-want +got):\n%s", diff)
	}
	if got, err := parse(nil, "agent"); err != nil || len(got) != 0 {
		t.Errorf("a program that asked nothing: got %v, %v", got, err)
	}
	if _, err := parse([]byte(dispatched+"{broken\n"), "agent"); err == nil {
		t.Error("metrics that cannot be read: no error")
	}
}

func TestSince(t *testing.T) {
	got := Counts{Lease: 12, Watch: 3}.Since(Counts{Lease: 8})
	if diff := cmp.Diff(Counts{Lease: 4, Watch: 3, Write: 0, Read: 0}, got); diff != "" {
		t.Errorf("difference (-want +got):\n%s", diff)
	}
}

func TestSchemas(t *testing.T) {
	subjects := []flowcontrolv1.Subject{ServiceAccount("ns", "agent"), Group("agents")}
	all := schemas("agent", 0, subjects)
	if len(all) != len(kinds) {
		t.Fatalf("got %d FlowSchemas for %d kinds", len(all), len(kinds))
	}
	for i, schema := range all {
		if i > 0 && schema.Spec.MatchingPrecedence <= all[i-1].Spec.MatchingPrecedence {
			t.Errorf("%s: the order of the kinds is lost", schema.Name)
		}
		if diff := cmp.Diff(subjects, schema.Spec.Rules[0].Subjects); diff != "" {
			t.Errorf("%s: subjects (-want +got):\n%s", schema.Name, diff)
		}
		last := schema.Name == schemaName("agent", Read)
		if (len(schema.Spec.Rules[0].NonResourceRules) > 0) != last {
			t.Errorf("%s: requests without a resource belong to the last kind alone", schema.Name)
		}
	}
}
