//go:build postgres

package postgres

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest/original"
)

// catalogQuery lists the schemas, relations, columns, triggers, indexes and functions of a database.
const catalogQuery = `SELECT l.line FROM (
SELECT n.oid AS schema, 'schema ' || n.nspname AS line FROM pg_namespace n
UNION ALL SELECT c.relnamespace, 'relation ' || c.oid::regclass FROM pg_class c
UNION ALL SELECT c.relnamespace, 'column ' || c.oid::regclass || '.' || a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
	WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind = 'r'
UNION ALL SELECT c.relnamespace, 'trigger ' || pg_get_triggerdef(t.oid) FROM pg_class c JOIN pg_trigger t ON t.tgrelid = c.oid
UNION ALL SELECT c.relnamespace, 'index ' || pg_get_indexdef(c.oid) || ' valid ' || i.indisvalid FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
UNION ALL SELECT p.pronamespace, 'function ' || p.oid::regprocedure FROM pg_proc p
) l JOIN pg_namespace n ON n.oid = l.schema WHERE n.nspname !~ '^(pg_|information_schema$)' ORDER BY 1`

func (d *database) catalog(t *testing.T) []string {
	t.Helper()
	lines, err := texts(d.conn.Query(t.Context(), catalogQuery))
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// hasCatalog fails the test unless the catalog has these lines, as after what was done before.
func (d *database) hasCatalog(t *testing.T, what string, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, d.catalog(t)); diff != "" {
		t.Errorf("%s (-before +after):\n%s", what, diff)
	}
}

func (d *database) must(err error) {
	d.tb.Helper()
	if err != nil {
		d.tb.Fatal(err)
	}
}

// TestUnmigrate: of the migrations of a database of the original stays only what the documentation names, however often they
// are removed, and they can be run again.
func TestUnmigrate(t *testing.T) {
	d := originalDatabase(t)
	before := d.catalog(t)
	d.must(Unmigrate(t.Context(), d.url))
	d.hasCatalog(t, "a database that was never migrated changed", before)
	d.must(Migrate(t.Context(), d.url))
	migrated := d.catalog(t)
	d.insertRow("managedclusteraddons", "hub1", `{"metadata": {"namespace": "c1", "name": "helloworld"}}`)
	stays := []string{"column status.leaf_hub_heartbeats.beat",
		"index CREATE INDEX compliance_policy_leaf_hub_cluster_idx ON status.compliance USING btree (id, leaf_hub_name, cluster_name) INCLUDE (compliance, error) valid true",
		"relation status.compliance_policy_leaf_hub_cluster_idx"}
	for range 2 {
		d.must(Unmigrate(t.Context(), d.url))
		var added []string
		for _, line := range d.catalog(t) {
			if !slices.Contains(before, line) {
				added = append(added, line)
			}
		}
		if diff := cmp.Diff(stays, added); diff != "" {
			t.Errorf("what stays (-want +got):\n%s", diff)
		}
	}
	d.must(Migrate(t.Context(), d.url))
	d.hasCatalog(t, "the second migration", migrated)
}

// TestUnmigrateRefused: objects that the migrations did not create, and that would be lost or in the way, are named before
// anything is removed. Without them it is removed.
func TestUnmigrateRefused(t *testing.T) {
	d := originalDatabase(t)
	d.must(Migrate(t.Context(), d.url))
	migrated := d.catalog(t)
	const subject = "hub_of_hubs.subject('policies', payload)"
	for _, c := range []struct{ reason, create, want, drop string }{
		{"a view of a function", "CREATE VIEW public.v AS SELECT " + subject + " FROM spec.policies", "view v uses it", "DROP VIEW public.v"},
		{"a column that a function generates", "CREATE TABLE public.notes (payload jsonb, s text GENERATED ALWAYS AS (" + subject + ") STORED)",
			"column s of table notes uses it", "DROP TABLE public.notes"},
		{"a constraint of a function", "ALTER TABLE status.placements ADD CONSTRAINT one EXCLUDE ((" + subject + ") WITH =)",
			"index status.one uses it", "ALTER TABLE status.placements DROP CONSTRAINT one"},
		{"a view of the add-ons", "CREATE VIEW public.v AS SELECT payload FROM status.managedclusteraddons", "view v uses it", "DROP VIEW public.v"},
		{"a table in the schema", "CREATE TABLE hub_of_hubs.mine ()", "table hub_of_hubs.mine uses it", "DROP TABLE hub_of_hubs.mine"},
		{"a table of another owner", "ALTER TABLE status.placements OWNER TO hub_of_hubs_status_reader",
			"table status.placements has another owner", ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			d.exec(c.create)
			url := d.url
			if c.drop == "" {
				url = d.anotherOwner(t)
			}
			err := Unmigrate(t.Context(), url)
			if err == nil || !strings.Contains(err.Error(), "nothing was removed: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want %q", err, c.want)
			}
			if c.drop != "" {
				d.exec(c.drop)
			}
			d.hasCatalog(t, "it changed the database", migrated)
		})
	}
	d.must(Unmigrate(t.Context(), d.url))
}

// anotherOwner returns the URL of a user who owns the schema of the log, and not the tables.
func (d *database) anotherOwner(t *testing.T) string {
	t.Helper()
	text, err := d.server.NewUser(t.Context(), d.url, "hub_of_hubs_status_writer")
	d.must(err)
	user, err := url.Parse(text)
	d.must(err)
	owner := d.text("SELECT current_user")
	d.exec("ALTER SCHEMA hub_of_hubs OWNER TO " + user.User.Username())
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		d.must(d.server.Exec(ctx, d.url, "ALTER SCHEMA hub_of_hubs OWNER TO "+owner))
		d.must(d.server.Exec(ctx, d.url, "ALTER TABLE status.placements OWNER TO "+owner))
	})
	return text
}

// TestUnmigrateForeign: a table of add-ons that the migrations did not create stays.
func TestUnmigrateForeign(t *testing.T) {
	d := originalDatabase(t)
	d.exec("CREATE TABLE status.managedclusteraddons (name text)")
	before := d.catalog(t)
	d.must(Unmigrate(t.Context(), d.url))
	d.hasCatalog(t, "it changed the database", before)
}

// TestUnmigrateOwn: the tables of a database that Migrate created keep their own triggers.
func TestUnmigrateOwn(t *testing.T) {
	d := newDatabase(t)
	d.must(Unmigrate(t.Context(), d.url))
	d.insertSpec("policies", "1", "policy")
	d.insertSpec("policies", "2", "policy")
	d.must(Migrate(t.Context(), d.url))
	d.insertSpec("policies", "3", "policy")
	if got := d.text("SELECT string_agg(right(id::text, 1), ' ' ORDER BY id) FROM history.policies"); got != "1 2" {
		t.Errorf("the history has the policies %s, want 1 2", got)
	}
}

// TestUnmigrateLogs: both commands end with a line that tells whether they changed the database.
func TestUnmigrateLogs(t *testing.T) {
	d := originalDatabase(t)
	for i, step := range []struct {
		change func(context.Context, string) error
		want   string
	}{
		{Unmigrate, `"msg"="Removed the migrations from the database" "changed"=false`},
		{Migrate, fmt.Sprintf(`"msg"="Migrated the database" "version"=%d "changed"=true`, newestMigration())},
		{Migrate, fmt.Sprintf(`"msg"="Migrated the database" "version"=%d "changed"=false`, newestMigration())},
		{Unmigrate, `"msg"="Removed the migrations from the database" "changed"=true`},
		{Unmigrate, `"msg"="Removed the migrations from the database" "changed"=false`},
	} {
		logged, end := d.inBackground(t, step.change)
		d.must(end())
		if got := logged(); !strings.HasSuffix(got, step.want) {
			t.Errorf("step %d: the log ends with %s, want %s", i, got, step.want)
		}
	}
}

// together is a transaction of several tables, as our report writes it; the original's bridge writes one table in each.
type together []original.Batch

func (t together) Statements() (all []original.Statement) {
	for _, batch := range t {
		all = append(all, batch.Statements()...)
	}
	return all
}

// TestUnmigrateBesideWriters: transport bridges write without pause, also several tables in one transaction, while the database is migrated and the
// migrations are removed. No bundle fails, and no migration.
func TestUnmigrateBesideWriters(t *testing.T) {
	const bridges, rounds = 4, 3
	d := originalDatabase(t)
	var bundles, failed atomic.Int64
	var group sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for n := range bridges {
		bridge, hub := d.bridge(), fmt.Sprint("hub", n)
		policies := original.Policies{LeafHub: hub}
		objects := original.Objects{Table: "placements", LeafHub: hub}
		for cluster := range 50 {
			policies.Insert = append(policies.Insert, original.Cluster{Policy: id("1"), Name: fmt.Sprint("c", cluster), Compliance: "compliant"})
			objects.Insert = append(objects.Insert, original.Object{ID: id("2"), Payload: map[string]any{
				"metadata": map[string]any{"name": fmt.Sprint("p", cluster), "namespace": "ns"}}})
		}
		group.Go(func() {
			for ctx.Err() == nil {
				noPolicies := original.Policies{LeafHub: hub, DeletePolicies: []string{id("1")}}
				noObjects := original.Objects{Table: "placements", LeafHub: hub, Delete: []string{id("2")}}
				for _, batch := range []original.Batch{policies, objects, together{noPolicies, noObjects}, together{objects, policies}, noPolicies, noObjects} {
					if err := bridge.Send(context.WithoutCancel(ctx), batch); err != nil {
						failed.Add(1)
						t.Logf("a bundle failed: %v", err)
					}
					bundles.Add(1)
				}
			}
		})
	}
	for round := range rounds {
		if err := Migrate(t.Context(), d.url); err != nil {
			t.Errorf("migration %d: %v", round, err)
		}
		if err := Unmigrate(t.Context(), d.url); err != nil {
			t.Errorf("removal %d: %v", round, err)
		}
	}
	stop()
	group.Wait()
	t.Logf("%d bundles", bundles.Load())
	if failed.Load() > 0 || bundles.Load() < rounds*bridges {
		t.Errorf("%d of %d bundles failed", failed.Load(), bundles.Load())
	}
}

// TestUnmigrateInterrupted: as soon as a trigger may be gone, a running status sync scans. When the removal ends in the middle
// of it, either command goes on from there.
func TestUnmigrateInterrupted(t *testing.T) {
	for name, next := range map[string]func(*database) error{
		"removed again":  func(d *database) error { return Unmigrate(t.Context(), d.url) },
		"migrated again": func(d *database) error { return Migrate(t.Context(), d.url) },
	} {
		t.Run(name, func(t *testing.T) {
			d := originalDatabase(t)
			d.must(Migrate(t.Context(), d.url))
			migrated := d.catalog(t)
			d.insertSpec("policies", "1", "policy")
			store := d.open(reader)
			cursor := changed(t, store, "").Next
			holder := d.another()
			defer holder.conn.Close(t.Context())
			holder.exec("BEGIN")
			holder.insertRow("placements", "hub1", `{"metadata": {"namespace": "ns", "name": "held"}}`)
			_, end := d.inBackground(t, Unmigrate)
			const dropping = "DROP TRIGGER % ON status.placements%"
			d.until(t, migrationWaits, dropping)

			if _, err := store.Changes(t.Context(), cursor); err == nil {
				t.Error("the log can be read while the triggers are dropped")
			}
			if changes := changed(t, store, ""); !strings.Contains(changes.Unlogged, "not migrated") {
				t.Errorf("the sync does not scan while the triggers are dropped: %+v", changes)
			}
			if keys, err := store.Scan(t.Context(), zeroKey, 10); err != nil || len(keys) != 1 {
				t.Errorf("scanned %v, %v", keys, err)
			}
			d.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE $1", dropping)
			if err := end(); err == nil {
				t.Error("the removal succeeded without its session")
			}
			holder.exec("COMMIT")
			d.must(next(d))
			want := ""
			if name == "migrated again" {
				d.hasCatalog(t, "the second migration", migrated)
			} else {
				want = "not migrated"
			}
			if changes := changed(t, d.open(reader), ""); !strings.Contains(changes.Unlogged, want) || (want == "") != (changes.Unlogged == "") {
				t.Errorf("without log because %q, want %q", changes.Unlogged, want)
			}
		})
	}
}

// TestUnmigrateAtOnce: both commands may run concurrently; each waits for the other.
func TestUnmigrateAtOnce(t *testing.T) {
	d := originalDatabase(t)
	var ends []func() error
	for _, change := range []func(context.Context, string) error{Migrate, Unmigrate, Migrate, Unmigrate} {
		_, end := d.inBackground(t, change)
		ends = append(ends, end)
	}
	for _, end := range ends {
		if err := end(); err != nil {
			t.Error(err)
		}
	}
	d.must(Migrate(t.Context(), d.url))
	d.must(d.open(reader).CheckSchema(t.Context()))
}

// TestGrantTo: the GRANT of the log grants the role whatever the user's name is, and has no double quote, which klog would
// print with a backslash, unless the name has one.
func TestGrantTo(t *testing.T) {
	for _, user := range []string{"test_grant", "test-grant", `Test"Grant's`} {
		t.Run(user, func(t *testing.T) {
			d := originalDatabase(t)
			d.must(Migrate(t.Context(), d.url))
			quoted := d.text("SELECT quote_ident($1)", user)
			d.exec("CREATE ROLE " + quoted + " LOGIN PASSWORD 'test' IN ROLE " + original.ProcessUser)
			t.Cleanup(func() {
				if err := d.server.Exec(context.WithoutCancel(t.Context()), d.url, "DROP ROLE "+quoted); err != nil {
					t.Error(err)
				}
			})
			as, err := url.Parse(d.url)
			d.must(err)
			as.User = url.UserPassword(user, "test")
			store := openURL(t, Options{URL: as.String()})
			reason := changed(t, store, "").Unlogged
			_, grant, found := strings.Cut(reason, "heartbeats: ")
			if !found {
				_, grant, found = strings.Cut(reason, ": ")
			}
			grant, _, _ = strings.Cut(grant, "; until then")
			if !found || strings.Contains(grant, `"`) && !strings.Contains(user, `"`) {
				t.Fatalf("the reason has no GRANT that can be pasted: %s", reason)
			}
			d.exec(grant)
			if changes := changed(t, store, ""); changes.Unlogged != "" {
				t.Errorf("after the GRANT %s: %s", grant, changes.Unlogged)
			}
		})
	}
}
