//go:build postgres

package postgres

import (
	"strings"
	"testing"

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
	lines, err := texts(d.conn.Query(t.Context(), "EXPLAIN "+addOnsAlike, []string{addOn.ID}))
	if err != nil {
		t.Fatal(err)
	}
	plan := strings.Join(lines, "\n")
	if !strings.Contains(plan, "Index Only Scan using managedclusteraddons_said_idx") || strings.Contains(plan, "Seq Scan") {
		t.Errorf("the rows are read:\n%s", plan)
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
