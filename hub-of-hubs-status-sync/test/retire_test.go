//go:build postgres

package hubofhubs

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest/original"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// documentedRetirement returns the SQL of the documentation that deletes the rows
// of a leaf hub.
func (w *world) documentedRetirement(leafHub string) string {
	w.Helper()
	text, err := os.ReadFile("../docs/operate.md")
	w.must(err)
	_, section, found := strings.Cut(string(text), "## Retire a leaf hub")
	_, section, begins := strings.Cut(section, "```sql\n")
	sql, _, ends := strings.Cut(section, "```")
	if !found || !begins || !ends || strings.Count(sql, "'hub1'") != 1 {
		w.Fatalf("the documentation has no SQL that retires hub1: %q", sql)
	}
	return strings.Replace(sql, "'hub1'", "'"+leafHub+"'", 1)
}

// seriesOf returns the names of the sync's metrics that have series of a leaf hub.
func (w *world) seriesOf(leafHub string) (names []string) {
	w.Helper()
	families, err := metrics.Registry.Gather()
	w.must(err)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "leaf_hub" && label.GetValue() == leafHub {
					names = append(names, family.GetName())
				}
			}
		}
	}
	return names
}

// tablesOf are the tables with a row of a leaf hub. MATERIALIZED, because PostgreSQL
// chooses the order of conditions otherwise, and may look for rows of the hub in a
// table without the column.
const tablesOf = `WITH every AS MATERIALIZED (
	SELECT format('%I.%I', table_schema, table_name) AS t FROM information_schema.columns WHERE column_name = 'leaf_hub_name'
) SELECT coalesce(string_agg(t, ', ' ORDER BY t), '') FROM every
WHERE xpath_exists('//row', query_to_xml(format('SELECT 1 FROM %s WHERE leaf_hub_name = %L', t, $1::text), true, false, ''))`

// TestRetire: the documentation's SQL takes a leaf hub out of every table, every
// status and every metric, and no other hub.
func TestRetire(t *testing.T) {
	w := emptyWorldOn(t, database)
	w.must(original.Create(t.Context(), w.server, w.owner))
	w.migrate()
	ids := w.oneOfEach()
	for _, hub := range []string{"retired", "stays"} {
		w.comply(ids["policy"], hub, "of-"+hub, "compliant")
		w.row("placementrules", hub, "rule", ids["rule"], map[string]any{"status": map[string]any{"decisions": decisionsOfRule("of-" + hub)}})
		w.exec("INSERT INTO status.managed_clusters VALUES ($1, '{}', 'none')", hub)
		w.exec("INSERT INTO status.aggregated_compliance VALUES ($1, $2, 1, 1)", ids["policy"], hub)
		w.exec("INSERT INTO local_spec.policies VALUES ($1, '{}')", hub)
		w.exec("INSERT INTO local_status.compliance VALUES ($1, 'local', $2, 'none', 'unknown')", ids["policy"], hub)
		w.beat(hub, 0)
	}
	before, err := w.answer(tablesOf, "retired")
	w.must(err)
	if want := "local_spec.policies, local_status.compliance, status.aggregated_compliance, status.compliance, " +
		"status.leaf_hub_heartbeats, status.managed_clusters, status.placementrules"; before != want {
		t.Fatalf("the hub has rows in %q, want %q", before, want)
	}
	w.sync()
	w.converge()
	w.eventually("the hub has series", func() error {
		if got := w.seriesOf("retired"); len(got) != 2 {
			return fmt.Errorf("only %v", got)
		}
		return nil
	})

	w.exec(w.documentedRetirement("retired"))
	for hub, want := range map[string]string{"retired": "", "stays": before} {
		if got, err := w.answer(tablesOf, hub); err != nil || got != want {
			t.Errorf("%s has rows in %q, %v; want %q", hub, got, err, want)
		}
	}
	w.converge()
	w.field(status.KindPlacementRule, w.namespace, "rule", decisionsOfRule("a", "b", "of-stays"), "status", "decisions")
	w.eventually("the hub's series go", func() error {
		if got := w.seriesOf("retired"); len(got) != 0 {
			return fmt.Errorf("there are %v", got)
		}
		return nil
	})
	if got := w.seriesOf("stays"); len(got) != 2 {
		t.Errorf("the other hub has only %v", got)
	}
}
