package postgres

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// id returns the uuid that tests call by a digit.
func id(digit string) string {
	return "00000000-0000-4000-8000-00000000000" + digit
}

func compliance(policy, cluster, value string) status.ComplianceEntry {
	return status.ComplianceEntry{PolicyID: id(policy), Cluster: cluster, Compliance: value}
}

// object is an object of namespace "ns"; rest is the JSON beside its metadata.
func object(kind status.Kind, name, rest string) status.ObjectEntry {
	return status.ObjectEntry{Kind: kind, ID: id("a"),
		Payload: []byte(`{"metadata": {"namespace": "ns", "name": "` + name + `"}` + rest + `}`)}
}

func TestPrepareLastWins(t *testing.T) {
	ready := prepare(status.Batch{
		Compliance: []status.ComplianceEntry{
			compliance("2", "b", "unknown"), compliance("1", "b", "compliant"),
			compliance("2", "a", "compliant"), compliance("2", "b", "non_compliant"),
			{PolicyID: strings.ToUpper(id("a")), Cluster: "c", Compliance: "unknown", Error: "disconnected"},
		},
		CompletePolicies: []string{id("2"), id("1"), strings.ToUpper(id("a")), id("2")},
		Objects: []status.ObjectEntry{
			object(status.KindPlacement, "p", ""), object(status.KindPlacement, "p", `, "status": {}`),
			object(status.KindPlacement, "back", ""),
		},
		Removed: []status.ObjectRef{
			{Kind: status.KindPlacement, Namespace: "ns", Name: "gone"},
			{Kind: status.KindPlacement, Namespace: "ns", Name: "gone"},
			{Kind: status.KindPlacement, Namespace: "ns", Name: "back"},
		},
	})
	want := prepared{
		complete: []string{id("1"), id("2"), id("a")},
		compliance: complianceColumns{
			ids:        []string{id("1"), id("2"), id("2"), id("a")},
			clusters:   []string{"b", "a", "b", "c"},
			errors:     []string{"none", "none", "none", "disconnected"},
			compliance: []string{"compliant", "compliant", "non_compliant", "unknown"},
		},
		objects: map[string]objectColumns{"placements": {
			ids: []string{id("a"), id("a")}, namespaces: []string{"ns", "ns"}, names: []string{"back", "p"},
			payloads: []string{
				`{"metadata": {"namespace": "ns", "name": "back"}}`,
				`{"metadata": {"namespace": "ns", "name": "p"}, "status": {}}`,
			},
			errors: []string{"none", "none"},
		}},
		removed: map[string]objectColumns{"placements": {namespaces: []string{"ns"}, names: []string{"gone"}}}, badPolicies: map[string]bool{},
	}
	allow := cmp.AllowUnexported(prepared{}, complianceColumns{}, objectColumns{})
	if diff := cmp.Diff(want, ready, allow); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestPrepareOrders: two writers that lock rows in one order cannot lock each other
// out.
func TestPrepareOrders(t *testing.T) {
	var batch status.Batch
	for i := range 50 {
		cluster := fmt.Sprintf("c%02d", 49-i)
		batch.Compliance = append(batch.Compliance, compliance("1", cluster, "unknown"), compliance("0", cluster, "unknown"))
		batch.Objects = append(batch.Objects, object(status.KindPlacement, cluster, ""))
	}
	ready := prepare(batch)
	if !slices.IsSorted(ready.compliance.ids) || !slices.IsSorted(ready.compliance.clusters[:50]) || !slices.IsSorted(ready.compliance.clusters[50:]) {
		t.Errorf("rows in no order: %v %v", ready.compliance.ids, ready.compliance.clusters)
	}
	if names := ready.objects["placements"].names; !slices.IsSorted(names) {
		t.Errorf("objects in no order: %v", names)
	}
}

func TestPrepareRejects(t *testing.T) {
	long := strings.Repeat("x", 64)
	cases := []struct {
		name, reason string
		batch        status.Batch
	}{
		{"a policy that is no uuid", "no uuid", status.Batch{CompletePolicies: []string{"1"}}},
		{"an entry whose policy is no uuid", "no uuid",
			status.Batch{Compliance: []status.ComplianceEntry{{PolicyID: "x", Cluster: "c", Compliance: "unknown"}}}},
		{"a policy that is no uuid, on many clusters", "no uuid", status.Batch{CompletePolicies: []string{"x", "x"}, Compliance: []status.ComplianceEntry{
			{PolicyID: "x", Cluster: "a", Compliance: "unknown"}, {PolicyID: "X", Cluster: "b", Compliance: "unknown"}}}},
		{"a cluster without a name", "is empty", status.Batch{Compliance: []status.ComplianceEntry{compliance("1", "", "unknown")}}},
		{"a cluster's name that does not fit", "longer than 63",
			status.Batch{Compliance: []status.ComplianceEntry{compliance("1", long, "unknown")}}},
		{"a cluster's name with a zero", "not valid text",
			status.Batch{Compliance: []status.ComplianceEntry{compliance("1", "a\x00b", "unknown")}}},
		{"OCM's spelling of compliance", "is none of compliant",
			status.Batch{Compliance: []status.ComplianceEntry{compliance("1", "c", "NonCompliant")}}},
		{"an unknown error", "is none of none",
			status.Batch{Compliance: []status.ComplianceEntry{{PolicyID: id("1"), Cluster: "c", Compliance: "unknown", Error: "x"}}}},
		{"a kind that is not reported", "does not report", status.Batch{Objects: []status.ObjectEntry{object(status.KindPolicy, "p", "")}}},
		{"a removed kind that is not reported", "does not report",
			status.Batch{Removed: []status.ObjectRef{{Kind: "Secret", Namespace: "ns", Name: "s"}}}},
		{"no JSON", "no JSON object", status.Batch{Objects: []status.ObjectEntry{{Kind: status.KindPlacement, ID: id("1"), Payload: []byte("{")}}}},
		{"no object", "no JSON object", status.Batch{Objects: []status.ObjectEntry{{Kind: status.KindPlacement, ID: id("1"), Payload: []byte("[1]")}}}},
		{"no name", "no name", status.Batch{Objects: []status.ObjectEntry{object(status.KindPlacement, "", "")}}},
		{"no namespace", "no namespace",
			status.Batch{Objects: []status.ObjectEntry{{Kind: status.KindPlacement, ID: id("1"), Payload: []byte(`{"metadata": {"name": "p"}}`)}}}},
		{"an object without an id", "no uuid",
			status.Batch{Objects: []status.ObjectEntry{{Kind: status.KindPlacement, Payload: []byte(`{"metadata": {"name": "p", "namespace": "ns"}}`)}}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ready := prepare(c.batch)
			if len(ready.rejected) != 1 || !strings.Contains(ready.rejected[0].Reason, c.reason) {
				t.Errorf("rejected %v, want one because of %q", ready.rejected, c.reason)
			}
			if ready.compliance.rows()+len(ready.objects)+len(ready.removed)+len(ready.complete) != 0 {
				t.Errorf("the entry was taken: %+v", ready)
			}
		})
	}
}
