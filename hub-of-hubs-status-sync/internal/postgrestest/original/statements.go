package original

import (
	"fmt"
	"slices"
	"strings"
)

// maxArguments is the bridge's limit: a statement with as many arguments as PostgreSQL's protocol cannot count is split.
const maxArguments = 65536

// Statement is one statement of a batch.
type Statement struct {
	SQL  string
	Args []any
}

// Cluster is one cluster's compliance with a policy: compliant, non_compliant or unknown.
type Cluster struct{ Policy, Name, Compliance string }

// Policies is the batch of one leaf hub's compliance bundle.
type Policies struct {
	LeafHub string
	Insert  []Cluster
	// UpdatePolicies has no cluster names: all rows of the policy get the compliance.
	UpdatePolicies []Cluster
	DeletePolicies []string
	Update         []Cluster
	// Delete has no compliance.
	Delete []Cluster
}

// Statements returns the batch's statements in the bridge's order.
func (p Policies) Statements() []Statement {
	const (
		table  = "status.compliance"
		update = "UPDATE " + table + " AS old SET compliance=new.compliance FROM (values "
	)
	var inserts, policies, updates [][]any
	for _, c := range p.Insert {
		inserts = append(inserts, []any{c.Policy, c.Name, p.LeafHub, "none", c.Compliance})
	}
	for _, c := range p.UpdatePolicies {
		policies = append(policies, []any{c.Policy, p.LeafHub, c.Compliance})
	}
	for _, c := range p.Update {
		updates = append(updates, []any{c.Policy, c.Name, p.LeafHub, c.Compliance})
	}
	batch := values("INSERT into "+table+" values ", inserts, map[int]string{1: "uuid"}, "")
	batch = append(batch, values(update, policies, map[int]string{1: "uuid", 3: "status.compliance_type"},
		") AS new(id,leaf_hub_name,compliance) WHERE old.id=new.id AND old.leaf_hub_name=new.leaf_hub_name")...)
	batch = append(batch, deletes(table, p.LeafHub, "id", p.DeletePolicies)...)
	batch = append(batch, values(update, updates, map[int]string{1: "uuid", 4: "status.compliance_type"},
		") AS new(id,cluster_name,leaf_hub_name,compliance) WHERE old.id=new.id AND old.leaf_hub_name=new.leaf_hub_name "+
			"AND old.cluster_name=new.cluster_name")...)
	return append(batch, p.deleteClusters()...)
}

// deleteClusters returns one statement per policy.
func (p Policies) deleteClusters() []Statement {
	var batch []Statement
	clusters := map[string][]any{}
	for _, c := range p.Delete {
		clusters[c.Policy] = append(clusters[c.Policy], c.Name)
	}
	for _, c := range p.Delete {
		names, found := clusters[c.Policy]
		if !found {
			continue
		}
		delete(clusters, c.Policy)
		batch = append(batch, Statement{
			SQL:  fmt.Sprintf("DELETE from status.compliance WHERE id=$1 AND leaf_hub_name=$2 AND cluster_name IN (%s)", list(len(names), 3, nil)),
			Args: slices.Concat([]any{c.Policy, p.LeafHub}, names),
		})
	}
	return batch
}

// Object is a row of a table with payloads.
type Object struct {
	ID      string
	Payload any
}

// Objects is the batch of one leaf hub's bundle of placement rules, placements, placement decisions, or subscriptions'
// statuses or reports.
type Objects struct {
	Table, LeafHub string
	Insert, Update []Object
	Delete         []string
}

// Statements returns the batch's statements in the bridge's order.
func (o Objects) Statements() []Statement {
	table := "status." + o.Table
	columns := map[int]string{1: "uuid", 3: "jsonb"}
	rows := func(objects []Object) [][]any {
		var rows [][]any
		for _, object := range objects {
			rows = append(rows, []any{object.ID, o.LeafHub, object.Payload})
		}
		return rows
	}
	batch := values("INSERT into "+table+" values ", rows(o.Insert), columns, "")
	batch = append(batch, values("UPDATE "+table+" AS old SET payload=new.payload FROM (values ", rows(o.Update), columns,
		") AS new(id,leaf_hub_name,payload) WHERE old.leaf_hub_name=new.leaf_hub_name AND old.id=new.id")...)
	return append(batch, deletes(table, o.LeafHub, "id", o.Delete)...)
}

// ManagedClusters is the batch of one leaf hub's bundle of managed clusters. An ID is the cluster's name.
type ManagedClusters struct {
	LeafHub        string
	Insert, Update []Object
	Delete         []string
}

// Statements returns the batch's statements in the bridge's order.
func (m ManagedClusters) Statements() []Statement {
	const table = "status.managed_clusters"
	columns := map[int]string{2: "jsonb"}
	var inserts, updates [][]any
	for _, c := range m.Insert {
		inserts = append(inserts, []any{m.LeafHub, c.Payload, "none"})
	}
	for _, c := range m.Update {
		updates = append(updates, []any{m.LeafHub, c.Payload, c.ID})
	}
	batch := values("INSERT into "+table+" values ", inserts, columns, "")
	batch = append(batch, values("UPDATE "+table+" AS old SET payload=new.payload FROM (values ", updates, columns,
		") AS new(leaf_hub_name,payload,cluster_name) WHERE old.leaf_hub_name=new.leaf_hub_name "+
			"AND old.payload->'metadata'->>'name'=new.cluster_name")...)
	return append(batch, deletes(table, m.LeafHub, "payload->'metadata'->>'name'", m.Delete)...)
}

// Heartbeat returns the statement for a leaf hub's control information. Nothing else beats.
func Heartbeat(leafHub string) Statement {
	return Statement{SQL: `INSERT INTO status.leaf_hub_heartbeats (leaf_hub_name, last_timestamp)
values($1, (now() at time zone 'utc')) ON CONFLICT (leaf_hub_name) DO UPDATE SET last_timestamp = (now()
at time zone 'utc') WHERE status.leaf_hub_heartbeats.leaf_hub_name = $1`, Args: []any{leafHub}}
}

// values returns statements that have rows of arguments between before and after, each with fewer than maxArguments.
func values(before string, rows [][]any, types map[int]string, after string) []Statement {
	if len(rows) == 0 {
		return nil
	}
	var batch []Statement
	for chunk := range slices.Chunk(rows, (maxArguments-1)/len(rows[0])) {
		texts := make([]string, len(chunk))
		for i, row := range chunk {
			texts[i] = "(" + list(len(row), i*len(row)+1, types) + ")"
		}
		batch = append(batch, Statement{SQL: before + strings.Join(texts, ", ") + after, Args: slices.Concat(chunk...)})
	}
	return batch
}

// deletes returns the statements that delete a leaf hub's rows by a key.
func deletes(table, leafHub, key string, keys []string) []Statement {
	var batch []Statement
	for chunk := range slices.Chunk(keys, maxArguments-2) {
		args := []any{leafHub}
		for _, key := range chunk {
			args = append(args, key)
		}
		batch = append(batch, Statement{
			SQL:  fmt.Sprintf("DELETE from %s WHERE leaf_hub_name=$1 AND %s IN (%s)", table, key, list(len(chunk), 2, nil)),
			Args: args,
		})
	}
	return batch
}

// list returns n placeholders that begin with first. Types are those of positions, counted from 1.
func list(n, first int, types map[int]string) string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("$%d", first+i)
		if as := types[i+1]; as != "" {
			texts[i] += "::" + as
		}
	}
	return strings.Join(texts, ", ")
}
