//go:build postgres

package hubofhubs

import (
	"errors"
	"os"
	"testing"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer"
)

// TestOldDatabase: a database as the users of hub-of-hubs have it, with their rows.
// The sync waits until it is migrated, and then has what was there before.
func TestOldDatabase(t *testing.T) {
	w := emptyWorldOn(t, database)
	theirs, err := os.ReadFile("../pkg/postgres/testdata/hub-of-hubs.sql")
	w.must(err)
	w.exec(string(theirs))
	id := w.policy("policy")
	w.comply(id, "hub1", "a", "non_compliant")
	before, fails := w.version(status.KindPolicy, "policy"), w.failures("all", "database")
	w.sync(func(o *syncer.Options) { o.DatabaseURL = w.owner })
	w.eventually("it has tried", func() error {
		if w.failures("all", "database") == fails {
			return errors.New("not yet")
		}
		return nil
	})
	if w.version(status.KindPolicy, "policy") != before {
		t.Error("a policy was written from a database that is not migrated")
	}
	w.migrate()
	w.converge()
	w.field(status.KindPolicy, w.namespace, "policy", "NonCompliant", "status", "compliant")
}

// oldWriter writes as the programs of hub-of-hubs do: a row at a time, by their
// columns, with rights to their tables alone.
func (w *world) oldWriter() func(sql string, args ...any) {
	w.Helper()
	w.exec("DO $$ BEGIN CREATE ROLE test_old_writer NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
	w.exec("GRANT USAGE ON SCHEMA status TO test_old_writer")
	w.exec(`GRANT SELECT, INSERT, UPDATE, DELETE ON status.compliance, status.placementrules, status.placements,
status.placementdecisions, status.subscription_statuses, status.subscription_reports, status.leaf_hub_heartbeats TO test_old_writer`)
	url, err := w.server.NewUser(w.Context(), w.owner, "test_old_writer")
	w.must(err)
	return func(sql string, args ...any) {
		w.Helper()
		w.must(w.server.Exec(w.Context(), url, sql, args...))
	}
}

// TestOldReporter: leaf hubs report by programs that know an older schema, and the
// sync is of a version that is older than the schema. All kinds go their way.
func TestOldReporter(t *testing.T) {
	w := newWorld(t)
	ids := w.oneOfEach()
	write := w.oldWriter()
	// What a later version may do: it adds, with defaults.
	w.exec("UPDATE hub_of_hubs.schema_version SET version = version + 10")
	for _, table := range []string{"compliance", "placementrules", "placements", "placementdecisions", "subscription_statuses",
		"subscription_reports", "leaf_hub_heartbeats"} {
		w.exec("ALTER TABLE status." + table + " ADD COLUMN added_at timestamptz NOT NULL DEFAULT now()")
	}
	w.exec("ALTER TABLE spec.policies ADD COLUMN added_by text NOT NULL DEFAULT 'later'")
	w.sync()
	leafHub := w.elsewhere()
	leafHub.report()
	w.converge()

	write("UPDATE status.compliance SET compliance = 'compliant' WHERE leaf_hub_name = 'hub1' AND cluster_name = 'a' AND id = $1", ids["policy"])
	w.field(status.KindPolicy, w.namespace, "policy", "Compliant", "status", "compliant")
	write(`INSERT INTO status.compliance (id, cluster_name, leaf_hub_name, error, compliance) VALUES ($1, 'old', 'hub3', 'none', 'unknown')`, ids["policy"])
	w.field(status.KindPolicy, w.namespace, "policy", nil, "status", "compliant")
	write(`UPDATE status.placementrules SET payload = jsonb_set(payload, '{status,decisions}', '[]') WHERE leaf_hub_name = 'hub2'`)
	w.field(status.KindPlacementRule, w.namespace, "rule", decisionsOfRule("a"), "status", "decisions")
	write(`UPDATE status.placements SET payload = jsonb_set(payload, '{status,numberOfSelectedClusters}', '7') WHERE leaf_hub_name = 'hub2'`)
	w.field(status.KindPlacement, w.namespace, "placement", 110, "status", "numberOfSelectedClusters")
	write(`DELETE FROM status.placementdecisions WHERE leaf_hub_name = 'hub1'`)
	write(`DELETE FROM status.subscription_statuses WHERE leaf_hub_name = 'hub1'`)
	write(`DELETE FROM status.subscription_reports WHERE leaf_hub_name = 'hub2'`)
	w.field(status.KindSubscriptionReport, w.namespace, "subscription", "1", "summary", "clusters")
	write(`INSERT INTO status.leaf_hub_heartbeats (leaf_hub_name, last_timestamp) VALUES ('hub1', now() - interval '1 hour')`)
	w.field(status.KindSubscriptionReport, w.namespace, "subscription", "0", "summary", "deployed")
	write(`UPDATE status.leaf_hub_heartbeats SET last_timestamp = now() WHERE leaf_hub_name = 'hub1'`)
	w.converge()

	// Ours beside theirs.
	leaf := leafHub.onLeaf(entryOf(status.KindPolicy).Object, "on-leaf", ids["policy"],
		map[string]any{"spec": map[string]any{"disabled": false, "policy-templates": []any{}}})
	w.leafStatus(leaf, complianceStatus("a", "NonCompliant"))
	w.field(status.KindPolicy, w.namespace, "policy", "NonCompliant", "status", "compliant")
	w.converge()
}
