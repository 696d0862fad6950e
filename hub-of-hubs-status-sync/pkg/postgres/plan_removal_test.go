package postgres

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRemoval(t *testing.T) {
	version, state := removable{kind: aTable, name: versionTable}, removable{kind: aTable, name: logStateTable}
	addons, schema := removable{kind: aTable, name: addonsTable}, removable{kind: aSchema, name: logSchema}
	trigger := func(name, table string) removable { return removable{aTrigger, name, table} }
	index := func(name string) removable { return removable{kind: anIndex, name: name} }
	const (
		dropVersion = "DROP TABLE IF EXISTS hub_of_hubs.schema_version"
		dropState   = "DROP TABLE IF EXISTS hub_of_hubs.change_log_state"
		dropAddons  = "DROP TABLE IF EXISTS status.managedclusteraddons"
		dropSchema  = "DROP SCHEMA IF EXISTS hub_of_hubs CASCADE"
	)
	for _, c := range []struct {
		reason string
		found  []removable
		want   []string
	}{
		{"never migrated", nil, nil},
		{"the version before the log's state, before the triggers, before the indexes, before the table, before the schema",
			[]removable{schema, addons, index("status.i"), trigger("log_insert", "status.placements"), state, version},
			[]string{dropVersion, dropState, "DROP TRIGGER IF EXISTS log_insert ON status.placements", "DROP INDEX CONCURRENTLY IF EXISTS status.i",
				dropAddons, dropSchema}},
		{"the triggers of a table in one statement, those of two tables in two, each with its own lock",
			[]removable{trigger("log_update", "status.b"), trigger("log_insert", "status.a"), trigger("log_insert", "status.b")},
			[]string{"DROP TRIGGER IF EXISTS log_insert ON status.a",
				"DROP TRIGGER IF EXISTS log_insert ON status.b; DROP TRIGGER IF EXISTS log_update ON status.b"}},
		{"an index cannot be dropped concurrently together with another one",
			[]removable{index("spec.i"), index("status.i")},
			[]string{"DROP INDEX CONCURRENTLY IF EXISTS spec.i", "DROP INDEX CONCURRENTLY IF EXISTS status.i"}},
		{"interrupted after the triggers: the rest", []removable{index("status.i"), addons, schema},
			[]string{"DROP INDEX CONCURRENTLY IF EXISTS status.i", dropAddons, dropSchema}},
		{"interrupted before the schema", []removable{schema}, []string{dropSchema}},
		{"the schema was dropped by hand", []removable{addons}, []string{dropAddons}},
	} {
		if diff := cmp.Diff(c.want, removal(c.found)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}
