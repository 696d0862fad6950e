//go:build postgres

package postgres

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// TestRoles: each half may do its work, which the other tests show, and nothing else.
func TestRoles(t *testing.T) {
	d := newDatabase(t)
	d.world()
	cases := []struct {
		role, name, sql string
		allowed         bool
	}{
		{reader, "read rows", "SELECT FROM status.compliance", true},
		{reader, "write rows", "INSERT INTO status.compliance VALUES ('" + id("1") + "', 'c', 'h', 'none', 'unknown')", false},
		{reader, "change rows", "UPDATE status.compliance SET compliance = 'compliant'", false},
		{reader, "remove rows", "DELETE FROM status.placements", false},
		{reader, "truncate", "TRUNCATE status.compliance", false},
		{reader, "beat", "INSERT INTO status.leaf_hub_heartbeats VALUES ('h', now())", false},
		{reader, "change objects", "UPDATE spec.policies SET deleted = true", false},
		{reader, "change the log", "DELETE FROM hub_of_hubs.change_log", false},
		{reader, "change the log's state", "UPDATE hub_of_hubs.change_log_state SET pending_since = now()", false},
		{reader, "change the schema's version", "UPDATE hub_of_hubs.schema_version SET version = 0", false},
		{reader, "read the channels, whose payload may name secrets", "SELECT FROM spec.channels", false},
		{reader, "read the history", "SELECT FROM history.policies", false},
		{reader, "make a table", "CREATE TABLE status.mine (i int)", false},
		{writer, "beat", "INSERT INTO status.leaf_hub_heartbeats VALUES ('h', now())", true},
		{writer, "remove a heartbeat", "DELETE FROM status.leaf_hub_heartbeats", false},
		{writer, "truncate", "TRUNCATE status.compliance", false},
		{writer, "read objects", "SELECT FROM spec.policies", false},
		{writer, "change objects", "UPDATE spec.policies SET deleted = true", false},
		{writer, "read the log", "SELECT FROM hub_of_hubs.change_log", false},
		{writer, "write to the log", "INSERT INTO hub_of_hubs.change_log (source, key) VALUES ('x', 'y')", false},
		{writer, "trim the log", "DELETE FROM hub_of_hubs.change_log", false},
		{writer, "drop the trigger", "DROP TRIGGER log_update ON status.compliance", false},
		{writer, "make a table", "CREATE TABLE status.mine (i int)", false},
		{writer, "change the labels of clusters", "DELETE FROM spec.managed_clusters_labels", false},
	}
	stores := map[string]*Store{reader: d.open(reader), writer: d.open(writer)}
	for _, c := range cases {
		_, err := stores[c.role].pool.Exec(t.Context(), c.sql)
		var refused *pgconn.PgError
		denied := errors.As(err, &refused) && refused.Code == codeNoPrivilege
		if c.allowed && err != nil || !c.allowed && !denied {
			t.Errorf("%s, %s: allowed should be %v, got %v", c.role, c.name, c.allowed, err)
		}
	}
}

// TestReaderCannotWriteByTheStore: the same, through the interface.
func TestReaderCannotWriteByTheStore(t *testing.T) {
	d := newDatabase(t)
	_, err := d.open(reader).Apply(t.Context(), "hub1", status.Batch{Compliance: []status.ComplianceEntry{compliance("1", "c", "unknown")}})
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.Code != codeNoPrivilege {
		t.Errorf("got %v, want permission denied", err)
	}
	if got := d.text("SELECT count(*) FROM status.compliance"); got != "0" {
		t.Errorf("%s rows were written", got)
	}
}
