//go:build postgres

package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/tern/v2/migrate"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

func TestSubject(t *testing.T) {
	d := newDatabase(t)
	long := strings.Repeat("n", 60)
	dashed := strings.Repeat("n", 59) + "-x"
	cases := []struct{ name, source, namespace, object, label, want string }{
		{"no label: its own name", "subscription_reports", "ns", "sub", "", "ns/sub"},
		{"the label says its own name", "subscription_reports", "ns", "sub", "ns.sub", "ns/sub"},
		{"the label says another one", "subscription_reports", "else", "where", "ns.sub", "ns/sub"},
		{"a dot in the name", "subscription_statuses", "ns", "sub.v1", "ns.sub.v1", "ns/sub.v1"},
		{"the label is cut", "subscription_statuses", "ns", long + "abc", "ns." + long, "ns/" + long + "abc"},
		{"the label is cut, of a report", "subscription_reports", "ns", long + "abc", "ns." + long, "ns/" + long + "abc"},
		{"the label is cut at a dash, which may not end it", "subscription_statuses", "ns", dashed, "ns." + strings.Repeat("n", 59), "ns/" + dashed},
		{"the label is cut at a dash that is left", "subscription_statuses", "ns", dashed, "ns." + strings.Repeat("n", 59) + "-", "ns/" + dashed},
		{"the cut label is of another one", "subscription_statuses", "ns", "other", "ns." + long, "ns/" + long},
		{"the name only begins as the label does", "subscription_statuses", "ns", "sub2", "ns.sub", "ns/sub"},
		{"the label of another kind is nothing", "placements", "ns", "place", "ns.sub", "ns/place"},
	}
	for _, c := range cases {
		payload := fmt.Sprintf(`{"metadata": {"namespace": %q, "name": %q, "labels": {%q: %q}}}`, c.namespace, c.object, status.LabelHostingSubscription, c.label)
		if c.label == "" {
			payload = fmt.Sprintf(`{"metadata": {"namespace": %q, "name": %q}}`, c.namespace, c.object)
		}
		if got := d.text("SELECT hub_of_hubs.subject($1, $2::jsonb)", c.source, payload); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
		if got := d.text("SELECT "+inlineSubject(c.source, "$1::jsonb"), payload); got != c.want {
			t.Errorf("%s, without the function: got %s, want %s", c.name, got, c.want)
		}
	}
}

// migrateTo brings an empty database to an older version.
func (d *database) migrateTo(version int32) {
	d.tb.Helper()
	d.exec("CREATE SCHEMA IF NOT EXISTS hub_of_hubs")
	conn, err := pgx.Connect(d.tb.Context(), d.url)
	if err != nil {
		d.tb.Fatal(err)
	}
	defer conn.Close(d.tb.Context())
	migrator, err := migrate.NewMigrator(d.tb.Context(), conn, versionTable)
	if err != nil {
		d.tb.Fatal(err)
	}
	files, err := migrationFiles()
	if err != nil {
		d.tb.Fatal(err)
	}
	if err := migrator.LoadMigrations(files); err != nil {
		d.tb.Fatal(err)
	}
	if err := migrator.MigrateTo(d.tb.Context(), version); err != nil {
		d.tb.Fatal(err)
	}
}

// TestLongSubscription: a Subscription's rows are found by the index where their label is cut off, also rows that were
// written before the indexes were built.
func TestLongSubscription(t *testing.T) {
	d := emptyDatabase(t, shared)
	d.migrateTo(1)
	name := strings.Repeat("n", 80)
	d.insertSpec("subscriptions", "4", name)
	row := fmt.Sprintf(`{"metadata": {"namespace": "ns", "name": %q, "labels": {%q: "ns.%s"}}}`, name, status.LabelHostingSubscription, name[:60])
	d.insertRow("subscription_statuses", "hub1", row)
	d.insertRow("subscription_reports", "hub1", row)
	if err := Migrate(t.Context(), d.url); err != nil {
		t.Fatal(err)
	}
	snapshot, err := d.open(reader).Read(t.Context(), []status.Key{key(status.KindSubscriptionStatus, "4"), key(status.KindSubscriptionReport, "4")})
	if err != nil || snapshot.Rows != 2 {
		t.Errorf("read %d rows, %v; want both", snapshot.Rows, err)
	}
	d.exec("SET enable_seqscan = off")
	for _, table := range []string{"subscription_statuses", "subscription_reports"} {
		found := "SELECT count(*) FROM status." + table + " WHERE hub_of_hubs.subject('" + table + "', payload) = $1"
		if got := d.text(found, "ns/"+name); got != "1" {
			t.Errorf("%s: %s rows by the index, want 1", table, got)
		}
	}
}
