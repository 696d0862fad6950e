//go:build postgres

package postgres

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// look asks for what changed and returns it as sorted "Kind id" with the cursor for the next look.
func look(t *testing.T, log status.ChangeLog, since status.Cursor) ([]string, status.Changes) {
	t.Helper()
	changes, err := log.Changes(t.Context(), since)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, change := range changes.Changed {
		if change.Age < 0 {
			t.Errorf("%v changed %s in the future", change.Key, change.Age)
		}
		keys = append(keys, string(change.Key.Kind)+" "+short(change.Key.ID))
	}
	slices.Sort(keys)
	return keys, changes
}

// short is the digit by which tests call a uuid.
func short(key string) string {
	return strings.TrimPrefix(key, id(""))
}

// insertSpec inserts an object of namespace ns.
func (d *database) insertSpec(table, digit, name string) {
	d.tb.Helper()
	d.exec(`INSERT INTO spec.`+table+` (id, payload) VALUES ($1, jsonb_build_object('metadata',
		jsonb_build_object('namespace', 'ns', 'name', $2::text)))`, id(digit), name)
}

// world inserts the original's world and a row of an add-on.
func (d *database) world() {
	d.tb.Helper()
	d.originalWorld()
	d.insertRow("managedclusteraddons", "hub1", `{"metadata": {"namespace": "c1", "name": "helloworld"}}`)
}

// originalWorld inserts a policy 1, a placement rule 2, a placement 3 and a subscription 4, each with a row or two.
func (d *database) originalWorld() {
	d.tb.Helper()
	d.insertSpec("policies", "1", "policy")
	d.insertSpec("placementrules", "2", "rule")
	d.insertSpec("placements", "3", "place")
	d.insertSpec("subscriptions", "4", "sub")
	d.exec(`INSERT INTO status.compliance (id, cluster_name, leaf_hub_name, error, compliance) VALUES
		('` + id("1") + `', 'c1', 'hub1', 'none', 'compliant'), ('` + id("1") + `', 'c1', 'hub2', 'none', 'non_compliant')`)
	d.insertRow("placementrules", "hub1", `{"metadata": {"namespace": "ns", "name": "rule"}}`)
	d.insertRow("placements", "hub1", `{"metadata": {"namespace": "ns", "name": "place"}}`)
	d.insertRow("placementdecisions", "hub1", `{"metadata": {"namespace": "ns", "name": "place-decision-1",
		"labels": {"cluster.open-cluster-management.io/placement": "place"}}}`)
	d.insertRow("subscription_statuses", "hub1", `{"metadata": {"namespace": "ns", "name": "sub"}}`)
	d.insertRow("subscription_reports", "hub1", `{"metadata": {"namespace": "else", "name": "where",
		"labels": {"apps.open-cluster-management.io/hosting-subscription": "ns.sub"}}}`)
	d.exec(`INSERT INTO status.leaf_hub_heartbeats (leaf_hub_name) VALUES ('hub1')`)
}

// insertRow writes a row as a writer of today does.
func (d *database) insertRow(table, leafHub, payload string) {
	d.tb.Helper()
	d.exec(`INSERT INTO status.`+table+` (id, leaf_hub_name, payload) VALUES ($1, $2, $3)`, id("b"), leafHub, payload)
}

func TestChanges(t *testing.T) {
	d := newDatabase(t)
	d.world()
	store := d.open(reader)
	cases := []struct {
		name, sql string
		want      []string
	}{
		{"nothing", "SELECT 1", nil},
		{"a policy's cluster", "UPDATE status.compliance SET compliance = 'unknown' WHERE leaf_hub_name = 'hub1'", []string{"Policy 1"}},
		{"a policy's error", "UPDATE status.compliance SET error = 'disconnected' WHERE leaf_hub_name = 'hub1'", []string{"Policy 1"}},
		{"an update without a change", "UPDATE status.compliance SET compliance = compliance", nil},
		{"an update of no row", "UPDATE status.compliance SET compliance = 'unknown' WHERE leaf_hub_name = 'hub9'", nil},
		{"the row moves to another policy", "UPDATE status.compliance SET id = '" + id("5") + "' WHERE leaf_hub_name = 'hub1'",
			[]string{"Policy 1", "Policy 5"}},
		{"a deleted row", "DELETE FROM status.compliance WHERE leaf_hub_name = 'hub1'", []string{"Policy 5"}},
		{"one statement, many rows", `INSERT INTO status.compliance SELECT '` + id("1") + `', 'c' || i, 'hub3', 'none', 'unknown'
			FROM generate_series(1, 1000) i`, []string{"Policy 1"}},
		{"one statement: a row moves to another policy, others are written as they are", `UPDATE status.compliance
			SET id = CASE cluster_name WHEN 'c7' THEN '` + id("5") + `' ELSE id END WHERE leaf_hub_name = 'hub3'`, []string{"Policy 1", "Policy 5"}},
		{"a placement rule", `UPDATE status.placementrules SET payload = payload || '{"status": {}}'`, []string{"PlacementRule 2"}},
		{"a placement rule without a change", `UPDATE status.placementrules SET payload = payload`, nil},
		{"a placement", `UPDATE status.placements SET payload = payload || '{"status": {}}'`, []string{"Placement 3"}},
		{"a decision by its label", `UPDATE status.placementdecisions SET payload = payload || '{"status": {}}'`, []string{"PlacementDecision 3"}},
		{"a decision by its label, whatever its name is", `INSERT INTO status.placementdecisions VALUES ('` + id("c") + `', 'hub3',
			'{"metadata": {"namespace": "ns", "name": "x", "labels": {"cluster.open-cluster-management.io/placement": "place"}}}')`,
			[]string{"PlacementDecision 3"}},
		{"a decision moves away", `UPDATE status.placementdecisions SET payload = '{"metadata": {"namespace": "ns", "name": "x",
			"labels": {"cluster.open-cluster-management.io/placement": "stranger"}}}' WHERE leaf_hub_name = 'hub3'`, []string{"PlacementDecision 3"}},
		{"a decision by its name", `INSERT INTO status.placementdecisions VALUES ('` + id("c") + `', 'hub2',
			'{"metadata": {"namespace": "ns", "name": "place-decision-12"}}')`, []string{"PlacementDecision 3"}},
		{"a subscription's status", `DELETE FROM status.subscription_statuses`, []string{"SubscriptionStatus 4"}},
		{"a subscription's report by its label", `DELETE FROM status.subscription_reports`, []string{"SubscriptionReport 4"}},
		{"an add-on", `UPDATE status.managedclusteraddons SET payload = payload || '{"status": {}}'`, []string{"AddOnSummary helloworld"}},
		{"a row of nothing that is known", `INSERT INTO status.placements VALUES ('` + id("c") + `', 'hub2',
			'{"metadata": {"namespace": "ns", "name": "stranger"}}')`, nil},
		{"garbage", `INSERT INTO status.placements VALUES ('` + id("c") + `', 'hub3', '"garbage"'), ('` + id("d") + `', 'hub4', '[]'),
			('` + id("d") + `', 'hub5', '{"metadata": 3}'), ('` + id("d") + `', 'hub6', 'null'),
			('` + id("d") + `', 'hub7', '{"metadata": {"name": {}, "namespace": []}}')`, nil},
		{"an object's change", `UPDATE spec.placements SET payload = payload || '{"spec": {}}'`, []string{"Placement 3", "PlacementDecision 3"}},
		{"an object is marked as deleted", `UPDATE spec.subscriptions SET deleted = true`, []string{"SubscriptionReport 4", "SubscriptionStatus 4"}},
		{"a row of an object that is marked as deleted", `INSERT INTO status.subscription_reports VALUES ('` + id("c") + `', 'hub2',
			'{"metadata": {"namespace": "ns", "name": "sub"}}')`, nil},
		{"an object is made anew", `INSERT INTO spec.policies (id, payload) VALUES ('` + id("6") + `',
			'{"metadata": {"namespace": "ns", "name": "policy"}}')`, []string{"Policy 1", "Policy 6"}},
		{"a table of no kind", `INSERT INTO status.aggregated_compliance VALUES ('` + id("1") + `', 'hub1', 1, 1)`, nil},
	}
	_, changes := look(t, store, "")
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d.exec(c.sql)
			var got []string
			got, changes = look(t, store, changes.Next)
			if diff := cmp.Diff(c.want, got); diff != "" || changes.Reset {
				t.Errorf("reset %v, -want +got:\n%s", changes.Reset, diff)
			}
		})
	}
}

// TestChangesCommittedLate: the order in which transactions begin is not the order in which they end, and a reader that
// has seen a later one must still see the earlier one, without waiting for it.
func TestChangesCommittedLate(t *testing.T) {
	d := newDatabase(t)
	store := d.open(reader)
	_, changes := look(t, store, "")

	late, err := d.conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := late.Exec(t.Context(), `INSERT INTO status.compliance VALUES ('`+id("1")+`', 'c', 'hub1', 'none', 'unknown')`); err != nil {
		t.Fatal(err)
	}
	other := d.another()
	defer other.conn.Close(t.Context())
	other.exec(`INSERT INTO status.compliance VALUES ('` + id("2") + `', 'c', 'hub1', 'none', 'unknown')`)
	got, changes := look(t, store, changes.Next)
	if diff := cmp.Diff([]string{"Policy 2"}, got); diff != "" {
		t.Errorf("while the first transaction runs, -want +got:\n%s", diff)
	}
	got, changes = look(t, store, changes.Next)
	if len(got) != 0 {
		t.Errorf("the same change was told again: %v", got)
	}
	if err := late.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, changes = look(t, store, changes.Next)
	if diff := cmp.Diff([]string{"Policy 1"}, got); diff != "" {
		t.Errorf("when the first transaction ended, -want +got:\n%s", diff)
	}

	undone, err := d.conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := undone.Exec(t.Context(), `DELETE FROM status.compliance`); err != nil {
		t.Fatal(err)
	}
	if err := undone.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, _ := look(t, store, changes.Next); len(got) != 0 {
		t.Errorf("what was rolled back was told: %v", got)
	}
}

func TestChangesReset(t *testing.T) {
	d := newDatabase(t)
	d.world()
	store := d.open(reader)
	keys, first := look(t, store, "")
	if !first.Reset || len(keys) != 0 {
		t.Errorf("before everything: reset %v, keys %v; want a reset and no keys", first.Reset, keys)
	}
	if _, next := look(t, store, first.Next); next.Reset {
		t.Error("a reset when nothing happened")
	}
	for i, c := range []struct{ of, part string }{
		{"another server", "1"}, {"another timeline", "00000002"}, {"another database", "1"}, {"another log", "1"},
		{"a time to come", "900000000:900000000:"},
	} {
		parts := strings.Split(string(first.Next), "/")
		parts[i] = c.part
		if _, changes := look(t, store, status.Cursor(strings.Join(parts, "/"))); !changes.Reset {
			t.Errorf("no reset at a cursor of %s", c.of)
		}
	}
	d.exec("TRUNCATE status.compliance")
	if _, changes := look(t, store, first.Next); !changes.Reset {
		t.Error("no reset when a table was truncated")
	}
}

// TestLongSubscriptions: the label that names a Subscription is cut at 63 characters;
// then the object's own name counts.
func TestLongSubscriptions(t *testing.T) {
	d := newDatabase(t)
	long := strings.Repeat("long-", 13) + "name"
	d.insertSpec("subscriptions", "4", long)
	store := d.open(reader)
	_, at := look(t, store, "")
	label := ("ns." + long)[:63]
	d.insertRow("subscription_reports", "hub1", `{"metadata": {"namespace": "ns", "name": "`+long+`",
		"labels": {"apps.open-cluster-management.io/hosting-subscription": "`+label+`"}}}`)
	d.insertRow("subscription_statuses", "hub1", `{"metadata": {"namespace": "ns", "name": "`+long+`",
		"labels": {"apps.open-cluster-management.io/hosting-subscription": "`+label+`"}}}`)
	got, _ := look(t, store, at.Next)
	if diff := cmp.Diff([]string{"SubscriptionReport 4", "SubscriptionStatus 4"}, got); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	snapshot, err := store.Read(t.Context(), []status.Key{key(status.KindSubscriptionReport, "4"), key(status.KindSubscriptionStatus, "4")})
	if err != nil || snapshot.Rows != 2 {
		t.Errorf("read %d rows, %v; want 2", snapshot.Rows, err)
	}
}
