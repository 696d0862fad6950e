//go:build postgres

package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

func key(kind status.Kind, digit string) status.Key { return status.Key{Kind: kind, ID: id(digit)} }

var addOn = status.Key{Kind: status.KindAddOnSummary, ID: "helloworld"}

// anyOrder compares rows whatever their order.
var anyOrder = cmp.Options{
	cmpopts.SortSlices(func(a, b status.ComplianceRow) bool { return fmt.Sprint(a) < fmt.Sprint(b) }),
	cmpopts.SortSlices(func(a, b status.PayloadRow) bool {
		return a.LeafHub+string(a.Payload) < b.LeafHub+string(b.Payload)
	}),
}

func payloads(texts ...string) (rows []status.PayloadRow) {
	for _, text := range texts {
		rows = append(rows, status.PayloadRow{LeafHub: "hub1", Payload: []byte(text), Count: 1})
	}
	return rows
}

func TestRead(t *testing.T) {
	d := newDatabase(t)
	d.world()
	d.insertSpec("policies", "5", "marked")
	d.exec("UPDATE spec.policies SET deleted = true WHERE id = '" + id("5") + "'")
	d.exec("INSERT INTO status.compliance VALUES ('" + id("5") + "', 'c1', 'hub1', 'none', 'compliant')")
	d.exec(`INSERT INTO spec.policies (id, payload) VALUES ('` + id("7") + `', '[]')`)
	keys := []status.Key{
		key(status.KindPolicy, "1"), key(status.KindPolicy, "5"), key(status.KindPolicy, "6"), key(status.KindPolicy, "7"),
		{Kind: status.KindPolicy, ID: "no uuid"}, {Kind: "Stranger", ID: id("1")},
		key(status.KindPlacementRule, "2"), key(status.KindPlacement, "3"), key(status.KindPlacementDecision, "3"),
		key(status.KindSubscriptionStatus, "4"), key(status.KindSubscriptionReport, "4"), addOn, key(status.KindPolicy, "1"),
	}
	snapshot, err := d.open(reader).Read(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	policy := status.Object{Key: key(status.KindPolicy, "1"), Found: true, Namespace: "ns", Name: "policy",
		Compliance: []status.ComplianceRow{
			{LeafHub: "hub1", Cluster: "c1", Error: "none", Compliance: "compliant"},
			{LeafHub: "hub2", Cluster: "c1", Error: "none", Compliance: "non_compliant"},
		}}
	want := []status.Object{
		policy, {Key: keys[1]}, {Key: keys[2]}, {Key: keys[3]}, {Key: keys[4]}, {Key: keys[5]},
		{Key: keys[6], Found: true, Namespace: "ns", Name: "rule",
			Payloads: payloads(`{"metadata": {"name": "rule", "namespace": "ns"}}`)},
		{Key: keys[7], Found: true, Namespace: "ns", Name: "place",
			Payloads: payloads(`{"metadata": {"name": "place", "namespace": "ns"}}`)},
		{Key: keys[8], Found: true, Namespace: "ns", Name: "place", Payloads: payloads(`{"metadata": {"name": "place-decision-1", ` +
			`"labels": {"cluster.open-cluster-management.io/placement": "place"}, "namespace": "ns"}}`)},
		{Key: keys[9], Found: true, Namespace: "ns", Name: "sub",
			Payloads: payloads(`{"metadata": {"name": "sub", "namespace": "ns"}}`)},
		{Key: keys[10], Found: true, Namespace: "ns", Name: "sub", Payloads: payloads(`{"metadata": {"name": "where", ` +
			`"labels": {"apps.open-cluster-management.io/hosting-subscription": "ns.sub"}, "namespace": "else"}}`)},
		{Key: addOn, Found: true, Name: "helloworld", Payloads: payloads(`{"status": null}`)},
		policy,
	}
	if diff := cmp.Diff(want, snapshot.Objects, anyOrder); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if snapshot.Rows != 8 {
		t.Errorf("read %d rows, want 8", snapshot.Rows)
	}
	if age := snapshot.Heartbeats.Now.Sub(snapshot.Heartbeats.Last["hub1"]); age < 0 || age > time.Hour || len(snapshot.Heartbeats.Last) != 1 {
		t.Errorf("heartbeats %+v, want one of hub1 just now", snapshot.Heartbeats)
	}
}

// TestReadAddOns: clusters with equal conditions are read as one row. Values that are no conditions are read as they are.
func TestReadAddOns(t *testing.T) {
	d := newDatabase(t)
	insert := func(hub, from, to, status string) {
		d.exec(`INSERT INTO status.managedclusteraddons SELECT gen_random_uuid(), '` + hub + `', jsonb_build_object(
			'metadata', jsonb_build_object('namespace', 'c' || i, 'name', 'helloworld'), 'other', i, 'status', jsonb '` + status + `')
			FROM generate_series(` + from + `, ` + to + `) i`)
	}
	good := `{"type": "Available", "status": "True", "reason": "R", "message": "m%s", "lastTransitionTime": "%s"}`
	synced := `{"type": "ConfigMapsSynced", "status": "True", "reason": "Synced"}`
	insert("hub1", "1", "500", `{"conditions": [`+fmt.Sprintf(good, "1", "2026")+`, `+synced+`], "registrations": 1}`)
	insert("hub1", "501", "700", `{"conditions": [`+synced+`, `+fmt.Sprintf(good, "2", "")+`]}`)
	insert("hub2", "1", "2", `{"conditions": [`+fmt.Sprintf(good, "1", "2026")+`, `+synced+`]}`)
	insert("hub3", "1", "3", `{"conditions": []}`)
	insert("hub3", "4", "4", `{"conditions": ["x", 1]}`)
	insert("hub3", "5", "5", `{"conditions": {"x": 1}}`)
	insert("hub3", "6", "6", `[]`)
	insert("hub3", "7", "7", `{}`)
	snapshot, err := d.open(reader).Read(t.Context(), []status.Key{addOn})
	if err != nil {
		t.Fatal(err)
	}
	row := func(hub string, count int64, said string) status.PayloadRow {
		return status.PayloadRow{LeafHub: hub, Count: count, Payload: []byte(`{"status": ` + said + `}`)}
	}
	alike := `{"conditions": [{"type": "Available", "reason": "R", "status": "True"}, {"type": "ConfigMapsSynced", "reason": "Synced", "status": "True"}]}`
	want := []status.PayloadRow{
		row("hub1", 700, alike), row("hub2", 2, alike),
		row("hub3", 3, `{"conditions": []}`), row("hub3", 1, `{"conditions": ["x", 1]}`), row("hub3", 1, `{"conditions": {"x": 1}}`),
		row("hub3", 1, `[]`), row("hub3", 1, `{"conditions": null}`),
	}
	if diff := cmp.Diff(want, snapshot.Objects[0].Payloads, anyOrder); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if snapshot.Rows != 7 {
		t.Errorf("%d rows were read, want 7", snapshot.Rows)
	}
}

// TestReadNamespace: a reader that is limited to a namespace sees nothing of the others.
func TestReadNamespace(t *testing.T) {
	d := newDatabase(t)
	d.world()
	d.exec(`INSERT INTO spec.policies (id, payload) VALUES ('` + id("8") + `', '{"metadata": {"namespace": "else", "name": "policy"}}')`)
	d.exec("INSERT INTO status.compliance VALUES ('" + id("8") + "', 'c1', 'hub1', 'none', 'compliant')")
	store := openURL(t, Options{URL: d.url, Namespace: "else"})
	keys, err := store.Scan(t.Context(), zeroKey, 10)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]status.Key{key(status.KindPolicy, "8"), addOn}, keys); diff != "" {
		t.Errorf("scanned, -want +got:\n%s", diff)
	}
	snapshot, err := store.Read(t.Context(), []status.Key{key(status.KindPolicy, "1"), key(status.KindPolicy, "8")})
	if err != nil {
		t.Fatal(err)
	}
	if snapshot.Objects[0].Found || !snapshot.Objects[1].Found || snapshot.Rows != 1 {
		t.Errorf("read %+v, want the object of the namespace alone", snapshot.Objects)
	}
}

// TestScan: whatever the size of the steps, every object comes once, in one order.
func TestScan(t *testing.T) {
	d := newDatabase(t)
	d.world()
	d.insertSpec("policies", "8", "second")
	d.insertSpec("policies", "9", "marked")
	d.exec("UPDATE spec.policies SET deleted = true WHERE id = '" + id("9") + "'")
	d.insertRow("managedclusteraddons", "hub2", `{"metadata": {"namespace": "c1", "name": "helloworld"}}`)
	d.insertRow("managedclusteraddons", "hub2", `{"metadata": {"namespace": "c1", "name": "other"}}`)
	d.insertRow("managedclusteraddons", "hub2", `"garbage"`)
	want := []status.Key{
		key(status.KindPolicy, "1"), key(status.KindPolicy, "8"), key(status.KindPlacementRule, "2"), key(status.KindPlacement, "3"),
		key(status.KindPlacementDecision, "3"), key(status.KindSubscriptionStatus, "4"), key(status.KindSubscriptionReport, "4"),
		addOn,
	}
	store := d.open(reader)
	for limit := 1; limit <= len(want)+1; limit++ {
		var got []status.Key
		for after := zeroKey; ; {
			keys, err := store.Scan(t.Context(), after, limit)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, keys...)
			if len(keys) < limit {
				break
			}
			after = keys[len(keys)-1]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d at a time, -want +got:\n%s", limit, diff)
		}
	}
}

func TestKeysOfHub(t *testing.T) {
	d := newDatabase(t)
	d.world()
	store := d.open(reader)
	for hub, want := range map[string][]status.Key{
		"hub1": {
			key(status.KindPolicy, "1"), key(status.KindPlacementRule, "2"), key(status.KindPlacement, "3"),
			key(status.KindPlacementDecision, "3"), key(status.KindSubscriptionStatus, "4"),
			key(status.KindSubscriptionReport, "4"), addOn,
		},
		"hub2": {key(status.KindPolicy, "1")},
		"hub3": nil,
	} {
		got, err := store.KeysOfHub(t.Context(), hub)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, -want +got:\n%s", hub, diff)
		}
	}
}

// TestIndexes: the reads that have to be fast at millions of rows go by the index that is there for them. The planner is
// told that the tables are not small.
func TestIndexes(t *testing.T) {
	d := newDatabase(t)
	d.exec("SET enable_seqscan = off")
	d.exec("SET enable_bitmapscan = off")
	for name, c := range map[string]struct{ sql, want string }{
		"a policy's rows": {"SELECT id, leaf_hub_name, cluster_name, error, compliance FROM status.compliance WHERE id = ANY(ARRAY['" + id("1") + "']::uuid[])",
			"Index Only Scan using compliance_policy_leaf_hub_cluster_idx"},
		"a placement's decisions": {"SELECT payload FROM status.placementdecisions WHERE hub_of_hubs.subject('placementdecisions', payload) = 'ns/p'",
			"placementdecisions_subject_idx"},
		"a subscription's reports": {"SELECT payload FROM status.subscription_reports WHERE hub_of_hubs.subject('subscription_reports', payload) = 'ns/p'",
			"subscription_reports_subject_idx"},
		"the object of a row": {"SELECT id FROM spec.placements WHERE hub_of_hubs.subject('placements', payload) = 'ns/p'",
			"placements_subject_idx"},
		"the changes": {"SELECT key FROM hub_of_hubs.change_log WHERE xid >= pg_snapshot_xmin('900:900:')", "change_log_xid_idx"},
	} {
		rows, err := texts(d.conn.Query(t.Context(), "EXPLAIN "+c.sql))
		if err != nil {
			t.Fatal(err)
		}
		if plan := strings.Join(rows, "\n"); !strings.Contains(plan, c.want) {
			t.Errorf("%s does not use %s:\n%s", name, c.want, plan)
		}
	}
}

// TestReadOneMoment: two tables that are written together are read together, also when the write is between the reads of
// the one and of the other.
func TestReadOneMoment(t *testing.T) {
	d := newDatabase(t)
	d.world()
	store := d.open(reader)
	writing := d.another()
	defer writing.conn.Close(t.Context())
	writing.exec("BEGIN")
	writing.exec("LOCK TABLE status.placementdecisions IN ACCESS EXCLUSIVE MODE")
	var snapshot status.Snapshot
	done := make(chan error, 1)
	go func() {
		var err error
		snapshot, err = store.Read(t.Context(), []status.Key{key(status.KindPlacement, "3"), key(status.KindPlacementDecision, "3")})
		done <- err
	}()
	eventually(t, "the read waits for the second table", func(context.Context) bool {
		return d.text("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'status.placementdecisions'::regclass") == "1"
	})
	for _, table := range []string{"placements", "placementdecisions"} {
		writing.exec("UPDATE status." + table + ` SET payload = payload || '{"later": true}'`)
	}
	writing.exec("COMMIT")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, object := range snapshot.Objects {
		if len(object.Payloads) != 1 || strings.Contains(string(object.Payloads[0].Payload), "later") {
			t.Errorf("%s is of another moment than the first read: %v", object.Key.Kind, object.Payloads)
		}
	}
}
