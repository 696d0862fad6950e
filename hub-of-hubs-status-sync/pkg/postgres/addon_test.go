//go:build postgres

package postgres

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// TestPlanOfAddOns: clusters are counted from the index alone, and one payload of each group is found by it. The rows of a
// million clusters take seconds to read.
func TestPlanOfAddOns(t *testing.T) {
	d := newDatabase(t)
	d.exec("SET synchronous_commit = on") // a page is all-visible once its transactions are in the log on disk
	d.exec(`INSERT INTO status.managedclusteraddons SELECT gen_random_uuid(), 'hub' || i % 10, jsonb_build_object(
		'metadata', jsonb_build_object('namespace', 'c' || i, 'name', 'helloworld'), 'other', repeat('x', 1000),
		'status', jsonb_build_object('conditions', jsonb_build_array(jsonb_build_object('type', 'Available', 'reason', i % 3))))
		FROM generate_series(1, 20000) i`)
	d.exec("VACUUM ANALYZE status.managedclusteraddons")
	lines, err := texts(d.conn.Query(t.Context(), "EXPLAIN "+addOnsAlike, addOn.ID))
	if err != nil {
		t.Fatal(err)
	}
	plan := strings.Join(lines, "\n")
	if !strings.Contains(plan, "Index Only Scan using managedclusteraddons_said_idx") || strings.Contains(plan, "Seq Scan") {
		t.Errorf("the rows are read:\n%s", plan)
	}
}

// TestOtherAddOns: the user of a leaf hub may write rows of any name. Only this add-on has an AddOnSummary.
func TestOtherAddOns(t *testing.T) {
	d := newDatabase(t)
	d.insertRow("managedclusteraddons", "hub1", `{"metadata": {"namespace": "c1", "name": "helloworld"}}`)
	sync, report := d.open(reader), d.open(writer)
	_, before := look(t, sync, "")
	if _, err := report.pool.Exec(t.Context(), `INSERT INTO status.managedclusteraddons SELECT gen_random_uuid(), 'hub1', jsonb_build_object(
		'metadata', jsonb_build_object('namespace', 'c1', 'name', 'other' || i)) FROM generate_series(1, 1000) i`); err != nil {
		t.Fatal(err)
	}
	if got, changes := look(t, sync, before.Next); len(got) != 0 || changes.Reset {
		t.Errorf("changed are %v, reset %v", got, changes.Reset)
	}
	for what, list := range map[string]func() ([]status.Key, error){
		"scanned":             func() ([]status.Key, error) { return sync.Scan(t.Context(), zeroKey, 10) },
		"keys of a leaf hub":  func() ([]status.Key, error) { return sync.KeysOfHub(t.Context(), "hub1") },
		"scanned from its id": func() ([]status.Key, error) { return sync.Scan(t.Context(), status.Key{Kind: addOn.Kind, ID: "a"}, 1) },
	} {
		keys, err := list()
		if diff := cmp.Diff([]status.Key{addOn}, keys); err != nil || diff != "" {
			t.Errorf("%s: %v, -want +got:\n%s", what, err, diff)
		}
	}
	snapshot, err := sync.Read(t.Context(), []status.Key{{Kind: status.KindAddOnSummary, ID: "other1"}})
	if err != nil || snapshot.Objects[0].Found || snapshot.Rows != 0 {
		t.Errorf("read %+v, %v; want it not found", snapshot.Objects, err)
	}
}

// TestLongConditions: conditions that are longer than an index entry may be are written and read.
func TestLongConditions(t *testing.T) {
	d := newDatabase(t)
	for _, letter := range []string{"a", "b"} {
		d.exec(`INSERT INTO status.managedclusteraddons SELECT gen_random_uuid(), 'hub1', jsonb_build_object(
			'metadata', jsonb_build_object('namespace', $1::text, 'name', 'helloworld'),
			'status', jsonb_build_object('conditions', (SELECT jsonb_agg(jsonb_build_object('type', md5($1 || i))) FROM generate_series(1, 500) i)))`, letter)
	}
	snapshot, err := d.open(reader).Read(t.Context(), []status.Key{addOn})
	if err != nil || snapshot.Rows != 2 {
		t.Errorf("read %d rows, %v; want both", snapshot.Rows, err)
	}
}
