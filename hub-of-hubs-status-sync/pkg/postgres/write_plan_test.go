//go:build postgres

package postgres

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestPlansOfUnknownHub: the first batches of a hub come before the statistics know of it; they take it for one row. A
// plan that then compares every row of the batch with every row of the hub ("Join Filter") takes minutes.
func TestPlansOfUnknownHub(t *testing.T) {
	d := newDatabase(t)
	for _, table := range []string{"compliance", "placements", "managed_clusters"} {
		d.exec("ALTER TABLE status." + table + " SET (autovacuum_enabled = off)")
	}
	const many = 20000
	ids, names, values := slices.Repeat([]string{id("1")}, many), make([]string, many), slices.Repeat([]string{"none"}, many)
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
	}
	compliances := slices.Repeat([]string{"compliant"}, many)
	payloads := slices.Repeat([]string{"{}"}, many)
	cases := map[string]statement{
		"remove compliance": {removeCompliance, "text, uuid[], uuid[], text[]", []any{"new", ids[:20], ids, names}},
		"write compliance":  {upsertCompliance, "text, uuid[], text[], text[], text[]", []any{"new", ids, names, values, compliances}},
		"remove objects":    {removeObjects("placements"), "text, text[], text[]", []any{"new", values, names}},
		"write objects":     {upsertObjects("placements"), "text, text[], text[], text[], uuid[]", []any{"new", values, names, payloads, ids}},
		"remove clusters":   {removeObjects(managedClustersTable), "text, text[], text[]", []any{"new", values, names}},
		"write clusters":    {upsertObjects(managedClustersTable), "text, text[], text[], text[]", []any{"new", names, payloads, values}},
	}
	t.Run("tables without statistics", func(t *testing.T) { d.plans(t, cases) })
	d.exec(`INSERT INTO status.compliance SELECT '` + id("1") + `', 'c' || i, 'old' || i % 3, 'none', 'compliant' FROM generate_series(1, 3000) i`)
	d.exec(`INSERT INTO status.placements SELECT '` + id("1") + `', 'old' || i % 3,
		jsonb_build_object('metadata', jsonb_build_object('name', 'p' || i, 'namespace', 'ns')) FROM generate_series(1, 3000) i`)
	d.exec(`INSERT INTO status.managed_clusters SELECT 'old' || i % 3,
		jsonb_build_object('metadata', jsonb_build_object('name', 'p' || i)), 'none' FROM generate_series(1, 3000) i`)
	d.exec("ANALYZE status.compliance")
	d.exec("ANALYZE status.placements")
	d.exec("ANALYZE status.managed_clusters")
	t.Run("statistics of other hubs", func(t *testing.T) { d.plans(t, cases) })
}

type statement struct {
	sql, types string
	args       []any
}

func (d *database) plans(t *testing.T, cases map[string]statement) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			custom, err := texts(d.conn.Query(t.Context(), "EXPLAIN "+c.sql, c.args...))
			if err != nil {
				t.Fatal(err)
			}
			// what pgx prepares is planned without the values after some runs
			d.exec("SET plan_cache_mode = force_generic_plan")
			d.exec("PREPARE planned (" + c.types + ") AS " + c.sql)
			generic, err := texts(d.conn.Query(t.Context(),
				"EXPLAIN EXECUTE planned ('new'"+strings.Repeat(", '{}'", len(c.args)-1)+")"))
			if err != nil {
				t.Fatal(err)
			}
			d.exec("DEALLOCATE planned")
			d.exec("RESET plan_cache_mode")
			for kind, lines := range map[string][]string{"with the values": custom, "without the values": generic} {
				plan := strings.Join(lines, "\n")
				if strings.Contains(plan, "Join Filter") || strings.Contains(plan, "SubPlan") && !strings.Contains(plan, "hashed SubPlan") {
					t.Errorf("planned %s, every row is compared with every other:\n%s", kind, plan[:min(len(plan), 3000)])
				}
			}
		})
	}
}
