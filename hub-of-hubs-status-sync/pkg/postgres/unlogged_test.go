//go:build postgres

package postgres

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest/original"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// changed returns the changes since a cursor.
func changed(t *testing.T, store *Store, since status.Cursor) status.Changes {
	t.Helper()
	changes, err := store.Changes(t.Context(), since)
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

// randomRows fills the tables of all kinds, with names and labels of which some meet.
func (d *database) randomRows(random *rand.Rand) {
	d.tb.Helper()
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	name := func() string {
		return one("a", "b", "a.b", "a-decision-1", "a-decision-12", strings.Repeat("n", 60)+one("", "-x", ".y", "zzzz"))
	}
	object := func() string {
		metadata := map[string]any{"name": name(), "namespace": one("ns", "ns", "else"), "labels": map[string]string{}}
		if random.IntN(2) == 0 {
			metadata["labels"] = map[string]string{
				one("cluster.open-cluster-management.io/placement", "other"): name(),
				one(status.LabelHostingSubscription, "other"):                strings.TrimRight(fmt.Sprintf("%.63s", "ns."+name()), one("", "-._")),
			}
		}
		if missing := one("", "", "", "", "", "", "name", "namespace", "labels"); missing != "" {
			delete(metadata, missing)
		}
		text, err := json.Marshal(map[string]any{"metadata": metadata, "number": random.IntN(1000)})
		if err != nil {
			d.tb.Fatal(err)
		}
		return one(string(text), string(text), string(text), string(text), string(text), string(text), `[]`, `{"metadata": 7}`)
	}
	var batch pgx.Batch
	for range 40 {
		for _, table := range []string{"policies", "placementrules", "placements", "subscriptions"} {
			batch.Queue("INSERT INTO spec."+table+" (id, payload, deleted) VALUES (gen_random_uuid(), $1, $2)", object(), random.IntN(5) == 0)
		}
	}
	for range 300 {
		for _, kind := range aggregatedKinds {
			if kind.spec != "" && kind.rows != complianceTable {
				batch.Queue("INSERT INTO status."+kind.rows+" VALUES (gen_random_uuid(), $1, $2) ON CONFLICT DO NOTHING",
					"hub"+fmt.Sprint(random.IntN(5)), object())
			}
		}
	}
	if err := d.conn.SendBatch(d.tb.Context(), &batch).Close(); err != nil {
		d.tb.Fatal(err)
	}
	d.exec(`INSERT INTO status.compliance SELECT p.id, 'cluster' || c, 'hub' || h, 'none',
(ARRAY['compliant', 'non_compliant', 'unknown'])[1 + (c * h + length(p.payload::text)) % 3]::status.compliance_type
FROM spec.policies p, generate_series(1, 7) c, generate_series(1, 4) h WHERE (hashtext(p.id::text) + c * h) % 3 <> 0`)
	d.exec("INSERT INTO status.leaf_hub_heartbeats VALUES ('hub1', now() AT TIME ZONE 'utc')")
}

// everything returns all keys of Scan, and what Read returns of them and of objects that are marked as deleted.
func everything(t *testing.T, store *Store, deleted []string) ([]status.Key, status.Snapshot) {
	t.Helper()
	var keys []status.Key
	for after := zeroKey; ; after = keys[len(keys)-1] {
		page, err := store.Scan(t.Context(), after, 7)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, page...)
		if len(page) < 7 {
			break
		}
	}
	also := keys
	for _, id := range deleted {
		also = append(also, status.Key{Kind: status.KindPolicy, ID: id}, status.Key{Kind: status.KindPlacementDecision, ID: id})
	}
	snapshot, err := store.Read(t.Context(), also)
	if err != nil {
		t.Fatal(err)
	}
	return keys, snapshot
}

// TestUnmigrated: as the user of the original, and on its database, the store returns the same objects and rows as after
// the migrations.
func TestUnmigrated(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			d := originalDatabase(t)
			d.randomRows(rand.New(rand.NewPCG(seed, 13)))
			deleted, err := texts(d.conn.Query(t.Context(), "SELECT id::text FROM spec.policies WHERE deleted UNION SELECT id::text FROM spec.placements WHERE deleted"))
			if err != nil || len(deleted) == 0 {
				t.Fatalf("%d objects are marked as deleted, %v", len(deleted), err)
			}
			before := d.open(original.ProcessUser)
			keys, snapshot := everything(t, before, deleted)
			if changes := changed(t, before, ""); changes.Unlogged == "" {
				t.Error("the database has a log of changes before the migrations")
			}
			if err := Migrate(t.Context(), d.url); err != nil {
				t.Fatal(err)
			}
			after := d.open(reader)
			wantKeys, want := everything(t, after, deleted)
			if changes := changed(t, after, ""); changes.Unlogged != "" {
				t.Errorf("no log of changes after the migrations: %s", changes.Unlogged)
			}
			if diff := cmp.Diff(wantKeys, keys); diff != "" {
				t.Errorf("keys, -migrated +not migrated:\n%s", diff)
			}
			if diff := cmp.Diff(want.Objects, snapshot.Objects, anyOrder); diff != "" || want.Rows != snapshot.Rows {
				t.Errorf("objects with %d and %d rows, -migrated +not migrated:\n%s", want.Rows, snapshot.Rows, diff)
			}
			if diff := cmp.Diff(want.Heartbeats.Last, snapshot.Heartbeats.Last); diff != "" || len(want.Heartbeats.Last) != 1 {
				t.Errorf("heartbeats, -migrated +not migrated:\n%s", diff)
			}
			rows := map[status.Kind]int{}
			for _, object := range want.Objects {
				rows[object.Key.Kind] += len(object.Compliance) + len(object.Payloads)
			}
			for _, kind := range aggregatedKinds {
				if kind.spec != "" && rows[kind.kind] < 5 {
					t.Errorf("only %d rows of %s were compared", rows[kind.kind], kind.kind)
				}
			}
		})
	}
}

// TestUnmigratedKeepsUp: a store sees the migration, the grant and their end, whichever call comes first.
func TestUnmigratedKeepsUp(t *testing.T) {
	d := originalDatabase(t)
	d.insertSpec("policies", "1", "policy")
	store := d.open(original.ProcessUser)
	user := store.pool.Config().ConnConfig.User
	reason := func(part string) {
		t.Helper()
		if changes := changed(t, store, "1"); !strings.Contains(changes.Unlogged, part) || changes.Next != "" {
			t.Errorf("without log because %q, next %q; want %q", changes.Unlogged, changes.Next, part)
		}
		if keys, err := store.Scan(t.Context(), zeroKey, 10); err != nil || len(keys) != 1 {
			t.Errorf("scanned %v, %v", keys, err)
		}
		if err := store.CheckReadable(t.Context()); err != nil {
			t.Errorf("not readable: %v", err)
		}
	}
	reason("not migrated")
	if err := store.CheckSchema(t.Context()); err == nil {
		t.Error("the schema is accepted before the migrations")
	}
	if err := Migrate(t.Context(), d.url); err != nil {
		t.Fatal(err)
	}
	reason("GRANT hub_of_hubs_status_reader TO")
	d.exec("GRANT hub_of_hubs_status_reader TO " + user)
	cursor := changed(t, store, "")
	if cursor.Unlogged != "" || !cursor.Reset {
		t.Fatalf("after the grant: %+v", cursor)
	}
	d.exec("INSERT INTO status.compliance VALUES ('" + id("1") + "', 'c', 'hub1', 'none', 'compliant')")
	if changes := changed(t, store, cursor.Next); len(changes.Changed) != 1 || changes.Reset {
		t.Errorf("the log has %+v", changes)
	}
	d.exec("REVOKE hub_of_hubs_status_reader FROM " + user)
	if _, err := store.Changes(t.Context(), cursor.Next); err == nil {
		t.Error("the log can be read after its right was revoked")
	}
	reason("GRANT hub_of_hubs_status_reader TO")
	d.exec("GRANT hub_of_hubs_status_reader TO " + user)
	cursor = changed(t, store, "")
	d.exec("DROP SCHEMA hub_of_hubs CASCADE")
	if _, err := store.Changes(t.Context(), cursor.Next); err == nil {
		t.Error("the log can be read after it was dropped")
	}
	reason("not migrated")
}

// TestUnmigratedParts: kinds whose tables are missing or cannot be read are left out and named; the others are read.
func TestUnmigratedParts(t *testing.T) {
	d := originalDatabase(t)
	d.originalWorld()
	d.exec("DROP TABLE status.placementrules, status.leaf_hub_heartbeats")
	d.exec("REVOKE SELECT ON status.subscription_reports FROM " + original.ProcessUser)
	store := d.open(original.ProcessUser)
	keys, snapshot := everything(t, store, nil)
	want := []status.Key{key(status.KindPolicy, "1"), key(status.KindPlacement, "3"), key(status.KindPlacementDecision, "3"),
		key(status.KindSubscriptionStatus, "4")}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("scanned, -want +got:\n%s", diff)
	}
	for _, object := range snapshot.Objects {
		if len(object.Compliance)+len(object.Payloads) == 0 {
			t.Errorf("no rows of %v", object.Key)
		}
	}
	left := []status.Key{key(status.KindPlacementRule, "2"), key(status.KindSubscriptionReport, "4"), addOn}
	snapshot, err := store.Read(t.Context(), left)
	if err != nil {
		t.Fatal(err)
	}
	reason := changed(t, store, "").Unlogged
	for i, object := range snapshot.Objects {
		if object.Found || !strings.Contains(reason, string(left[i].Kind)) {
			t.Errorf("%v is found: %v; the reason is %q", object.Key, object.Found, reason)
		}
	}
	if beats, err := store.Heartbeats(t.Context()); err != nil || len(beats.Last) != 0 || beats.Now.IsZero() || !strings.Contains(reason, "stale leaf hubs") {
		t.Errorf("heartbeats %+v, %v; the reason is %q", beats, err, reason)
	}
}

// TestUnmigratedEmpty: a database without the tables of hub-of-hubs is not one to scan, nor one of which the user cannot
// read them.
func TestUnmigratedEmpty(t *testing.T) {
	closed := originalDatabase(t)
	closed.exec("REVOKE USAGE ON SCHEMA status FROM " + original.ProcessUser)
	for name, store := range map[string]*Store{"no tables": emptyDatabase(t, shared).open(""), "no right": closed.open(original.ProcessUser)} {
		t.Run(name, func(t *testing.T) { nothingToRead(t, store) })
	}
}

func nothingToRead(t *testing.T, store *Store) {
	t.Helper()
	_, changesErr := store.Changes(t.Context(), "")
	_, scanErr := store.Scan(t.Context(), zeroKey, 1)
	_, readErr := store.Read(t.Context(), []status.Key{addOn})
	for call, err := range map[string]error{"changes": changesErr, "scan": scanErr, "read": readErr, "check": store.CheckReadable(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), "run `hub-of-hubs-status-sync migrate`") {
			t.Errorf("%s: got %v, want to be told to migrate", call, err)
		}
	}
}

// TestUnmigratedIndexes: rows are read by the indexes of the original, a policy's though the planner would rather read the table.
func TestUnmigratedIndexes(t *testing.T) {
	d := originalDatabase(t)
	d.exec(`INSERT INTO status.placements SELECT gen_random_uuid(), 'hub1',
	jsonb_build_object('metadata', jsonb_build_object('name', 'place' || i, 'namespace', 'ns')) FROM generate_series(1, 5000) i`)
	d.exec(`INSERT INTO status.compliance SELECT md5(p::text)::uuid, 'cluster' || c, 'hub' || h, 'none', 'compliant'
FROM generate_series(1, 50) h, generate_series(1, 20) p, generate_series(1, 100) c`)
	d.exec("VACUUM ANALYZE status.compliance, status.placements")
	placements := (&layout{unlogged: "not migrated"}).payloadsQuery(aggregated{spec: "placements", rows: "placements"})
	for index, sql := range map[string]string{
		"compliance_leaf_hub_policy_cluster_idx":    unloggedCompliance,
		"placements_payload_name_and_namespace_idx": placements,
	} {
		rows, err := texts(d.conn.Query(t.Context(), "EXPLAIN "+strings.Replace(sql, "$1", "ARRAY[md5('1')::uuid]", 1)))
		if err != nil {
			t.Fatal(err)
		}
		if plan := strings.Join(rows, "\n"); strings.Contains(plan, "Seq Scan") || !strings.Contains(plan, index) {
			t.Errorf("the whole table is read:\n%s", plan)
		}
	}
}
