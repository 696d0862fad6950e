//go:build postgres

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// TestMigrateAtOnce: every replica of a program may migrate at its start.
func TestMigrateAtOnce(t *testing.T) {
	d := emptyDatabase(t, shared)
	group, ctx := errgroup.WithContext(t.Context())
	for range 4 {
		group.Go(func() error { return Migrate(ctx, d.url) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := Migrate(t.Context(), d.url); err != nil {
		t.Fatalf("a second run: %v", err)
	}
	if got, want := d.text("SELECT version FROM hub_of_hubs.schema_version"), fmt.Sprint(newestMigration()); got != want {
		t.Errorf("version %s, want %s", got, want)
	}
	if err := d.open(reader).CheckSchema(t.Context()); err != nil {
		t.Error(err)
	}
	if err := d.open(writer).CheckSchema(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestMigrateNewer: a program that is rolled back must not fail at a schema that went on.
func TestMigrateNewer(t *testing.T) {
	d := newDatabase(t)
	d.exec("UPDATE hub_of_hubs.schema_version SET version = 99")
	if err := Migrate(t.Context(), d.url); err != nil {
		t.Fatal(err)
	}
	if err := d.open("").CheckSchema(t.Context()); err != nil {
		t.Error(err)
	}
	if got := d.text("SELECT version FROM hub_of_hubs.schema_version"); got != "99" {
		t.Errorf("version %s, want 99 as it was", got)
	}
}

// TestMigrateExisting: nothing of the original's tables changes. Its writers name no columns when they insert, so a table may
// get columns at its end, which are nullable or have a default. A table of spec gets none, because the original's trigger
// copies its rows to the history by SELECT *.
func TestMigrateExisting(t *testing.T) {
	d := originalDatabase(t)
	d.exec("INSERT INTO spec.policies (id, payload) VALUES ($1, $2)", id("1"), `{"metadata": {"name": "p1", "namespace": "default"}}`)
	const columns = `SELECT string_agg(c.text, E'\n' ORDER BY c.text) FROM (
	SELECT format('%s.%s.%s: %s %s %s %s', table_schema, table_name, ordinal_position, column_name, udt_name, is_nullable, column_default) AS text
	FROM information_schema.columns JOIN theirs USING (table_schema, table_name)
	WHERE ordinal_position <= columns OR table_schema IN ('spec', 'history') OR is_nullable = 'NO' AND column_default IS NULL) c`
	d.exec(`CREATE TABLE theirs AS SELECT table_schema, table_name, count(*) AS columns FROM information_schema.columns
	WHERE table_schema IN ('spec', 'status', 'local_spec', 'local_status', 'history') GROUP BY 1, 2`)
	before := d.text(columns)
	if err := Migrate(t.Context(), d.url); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, d.text(columns)); diff != "" {
		t.Errorf("their tables changed (-before +after):\n%s", diff)
	}
	if got := d.text("SELECT count(*) FROM pg_trigger WHERE tgrelid = 'spec.policies'::regclass AND tgname LIKE '%history%'"); got != "1" {
		t.Errorf("%s triggers move policies to the history, want theirs alone", got)
	}
	// what was there before the log is found by the first scan
	keys, err := d.open(reader).Scan(t.Context(), zeroKey, 10)
	if err != nil || len(keys) != 1 {
		t.Errorf("scanned %v, %v; want the one policy that was there", keys, err)
	}
}

// TestMigrateAgain: who goes back to the original drops the schema, which drops only those columns of the add-ons' table that
// use its functions. The next migration completes the table that is left.
func TestMigrateAgain(t *testing.T) {
	d := originalDatabase(t)
	if err := Migrate(t.Context(), d.url); err != nil {
		t.Fatal(err)
	}
	d.insertRow("managedclusteraddons", "hub1", `{"metadata": {"namespace": "c1", "name": "helloworld"}}`)
	d.exec("DROP SCHEMA hub_of_hubs CASCADE")
	if err := Migrate(t.Context(), d.url); err != nil {
		t.Fatal(err)
	}
	snapshot, err := d.open(reader).Read(t.Context(), []status.Key{addOn})
	if err != nil || snapshot.Rows != 1 {
		t.Errorf("read %d rows, %v; want the one that was there", snapshot.Rows, err)
	}
}

// TestMigrateWithoutRights: the message names what is missing and what to do.
func TestMigrateWithoutRights(t *testing.T) {
	d := emptyDatabase(t, shared)
	d.exec("DO $$ BEGIN CREATE ROLE test_nobody NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
	url, err := shared.NewUser(t.Context(), d.url, "test_nobody")
	if err != nil {
		t.Fatal(err)
	}
	err = Migrate(t.Context(), url)
	if err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("got %v, want permission denied", err)
	}
	if err := openURL(t, Options{URL: url}).CheckSchema(t.Context()); err == nil || !strings.Contains(err.Error(), "run the migrations") {
		t.Errorf("got %v, want to be told to run the migrations", err)
	}
}

// TestMigrateCancelled: a migration that is given up leaves the lock free and the schema whole.
func TestMigrateCancelled(t *testing.T) {
	d := emptyDatabase(t, shared)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Migrate(ctx, d.url); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want it cancelled", err)
	}
	if err := Migrate(t.Context(), d.url); err != nil {
		t.Error(err)
	}
}

// TestMigrateLocked: a lock that a pooler's session keeps is not waited for without end, and the message says how to get
// rid of it.
func TestMigrateLocked(t *testing.T) {
	d := emptyDatabase(t, shared)
	d.exec("SELECT pg_advisory_lock($1)", migrationLock)
	err := migrateWithin(t.Context(), d.url, time.Second)
	if err == nil || !strings.Contains(err.Error(), "held the migrations' lock for 1s") || !strings.Contains(err.Error(), "pooler") {
		t.Fatalf("got %v, want to be told of the lock and of poolers", err)
	}
	if _, statement, found := strings.Cut(err.Error(), "(SELECT pg_terminate_backend(pid)"); !found {
		t.Error("the message does not say how to end the session")
	} else {
		statement, _, _ = strings.Cut(statement, ") and have DATABASE_URL")
		if got := d.text("SELECT count(*)" + statement); got != "1" {
			t.Errorf("what the message says finds %s sessions, want the one that has the lock", got)
		}
	}
	d.exec("SELECT pg_advisory_unlock($1)", migrationLock)
	if err := Migrate(t.Context(), d.url); err != nil {
		t.Error(err)
	}
}
