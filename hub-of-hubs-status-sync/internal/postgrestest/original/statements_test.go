package original

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The wanted texts are the bridge's: its builders print them for these rows.
func TestStatements(t *testing.T) {
	for name, test := range map[string]struct {
		batch Batch
		want  []Statement
	}{
		"nothing changed": {Policies{LeafHub: "hub1"}, nil},
		"rows of a policy: an insert names no column, and has many rows": {
			Policies{LeafHub: "hub1", Insert: []Cluster{{"id1", "a", "compliant"}, {"id1", "b", "unknown"}}},
			[]Statement{{
				"INSERT into status.compliance values ($1::uuid, $2, $3, $4, $5), ($6::uuid, $7, $8, $9, $10)",
				[]any{"id1", "a", "hub1", "none", "compliant", "id1", "b", "hub1", "none", "unknown"},
			}},
		},
		"all other changes of policies, whole ones first": {
			Policies{
				LeafHub: "hub1", UpdatePolicies: []Cluster{{Policy: "id1", Compliance: "compliant"}}, DeletePolicies: []string{"id2", "id3"},
				Update: []Cluster{{"id4", "a", "non_compliant"}}, Delete: []Cluster{{Policy: "id5", Name: "a"}, {Policy: "id6", Name: "a"}, {Policy: "id5", Name: "b"}},
			},
			[]Statement{
				{
					"UPDATE status.compliance AS old SET compliance=new.compliance FROM (values ($1::uuid, $2, $3::status.compliance_type)) " +
						"AS new(id,leaf_hub_name,compliance) WHERE old.id=new.id AND old.leaf_hub_name=new.leaf_hub_name",
					[]any{"id1", "hub1", "compliant"},
				},
				{"DELETE from status.compliance WHERE leaf_hub_name=$1 AND id IN ($2, $3)", []any{"hub1", "id2", "id3"}},
				{
					"UPDATE status.compliance AS old SET compliance=new.compliance FROM (values ($1::uuid, $2, $3, $4::status.compliance_type)) " +
						"AS new(id,cluster_name,leaf_hub_name,compliance) WHERE old.id=new.id AND old.leaf_hub_name=new.leaf_hub_name " +
						"AND old.cluster_name=new.cluster_name",
					[]any{"id4", "a", "hub1", "non_compliant"},
				},
				{"DELETE from status.compliance WHERE id=$1 AND leaf_hub_name=$2 AND cluster_name IN ($3, $4)", []any{"id5", "hub1", "a", "b"}},
				{"DELETE from status.compliance WHERE id=$1 AND leaf_hub_name=$2 AND cluster_name IN ($3)", []any{"id6", "hub1", "a"}},
			},
		},
		"objects": {
			Objects{Table: "placements", LeafHub: "hub1", Insert: []Object{{"id1", "{}"}}, Update: []Object{{"id2", "{}"}}, Delete: []string{"id3"}},
			[]Statement{
				{"INSERT into status.placements values ($1::uuid, $2, $3::jsonb)", []any{"id1", "hub1", "{}"}},
				{
					"UPDATE status.placements AS old SET payload=new.payload FROM (values ($1::uuid, $2, $3::jsonb)) " +
						"AS new(id,leaf_hub_name,payload) WHERE old.leaf_hub_name=new.leaf_hub_name AND old.id=new.id",
					[]any{"id2", "hub1", "{}"},
				},
				{"DELETE from status.placements WHERE leaf_hub_name=$1 AND id IN ($2)", []any{"hub1", "id3"}},
			},
		},
		"managed clusters: by name": {
			ManagedClusters{LeafHub: "hub1", Insert: []Object{{"a", "{}"}}, Update: []Object{{"b", "{}"}}, Delete: []string{"c"}},
			[]Statement{
				{"INSERT into status.managed_clusters values ($1, $2::jsonb, $3)", []any{"hub1", "{}", "none"}},
				{
					"UPDATE status.managed_clusters AS old SET payload=new.payload FROM (values ($1, $2::jsonb, $3)) " +
						"AS new(leaf_hub_name,payload,cluster_name) WHERE old.leaf_hub_name=new.leaf_hub_name " +
						"AND old.payload->'metadata'->>'name'=new.cluster_name",
					[]any{"hub1", "{}", "b"},
				},
				{"DELETE from status.managed_clusters WHERE leaf_hub_name=$1 AND payload->'metadata'->>'name' IN ($2)", []any{"hub1", "c"}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.batch.Statements()); diff != "" {
				t.Errorf("statements (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStatementsAreSplit: a bundle may have more arguments than a statement.
func TestStatementsAreSplit(t *testing.T) {
	got := Policies{LeafHub: "hub1", Insert: make([]Cluster, 13108)}.Statements()
	if len(got) != 2 || len(got[0].Args) != 65535 || len(got[1].Args) != 5 || !strings.HasPrefix(got[1].SQL, "INSERT into status.compliance values ($1::uuid,") {
		t.Errorf("got %d statements, want one with 65535 arguments and one with a row", len(got))
	}
}
