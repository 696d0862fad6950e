package monitoring

import (
	"html"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// query is an expression, and where it is from.
type query struct{ from, expr string }

// queries returns every expression of the rules and dashboards.
func queries(t *testing.T) []query {
	t.Helper()
	var all []query
	for name, rule := range rules(t) {
		all = append(all, query{"alert " + name, rule.Expr})
	}
	for name, d := range dashboards(t) {
		for _, panel := range d.Panels {
			for _, target := range panel.Targets {
				all = append(all, query{"dashboard " + name + ", panel " + panel.Title, target.Expr})
			}
		}
	}
	slices.SortFunc(all, func(a, b query) int { return strings.Compare(a.from+a.expr, b.from+b.expr) })
	return all
}

// selectors returns the selectors in an expression, for example up{job="a"}.
func selectors(t *testing.T, q query) []*parser.VectorSelector {
	t.Helper()
	expr, err := parser.ParseExpr(q.expr)
	if err != nil {
		t.Fatalf("%s: %v", q.from, err)
	}
	var found []*parser.VectorSelector
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			found = append(found, selector)
		}
		return nil
	})
	return found
}

// names returns the metrics that an expression reads, without what Prometheus adds to the name of a histogram.
func names(t *testing.T, q query) []string {
	t.Helper()
	var all []string
	for _, selector := range selectors(t, q) {
		for _, matcher := range selector.LabelMatchers {
			if matcher.Name == labels.MetricName && matcher.Type == labels.MatchEqual {
				all = append(all, strings.TrimSuffix(matcher.Value, "_bucket"))
			}
		}
	}
	return all
}

// TestDashboards: a panel has a title and a query, every query has a result of a known form, and no dashboard is of one
// installation alone.
func TestDashboards(t *testing.T) {
	all := dashboards(t)
	kustomization := read(t, top, "deploy/monitoring/kustomization.yaml")
	uids := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d := all[name]
		if d.UID == "" || d.Title == "" || uids[d.UID] {
			t.Errorf("%s: the uid %q or the title %q is missing or not unique", name, d.UID, d.Title)
		}
		uids[d.UID] = true
		if !strings.Contains(kustomization, "dashboards/"+name+".json") {
			t.Errorf("deploy/monitoring/kustomization.yaml does not have %s.json", name)
		}
		for _, panel := range d.Panels {
			if panel.Title == "" || (panel.Type == "row") != (len(panel.Targets) == 0) {
				t.Errorf("%s: panel %q of the type %s has %d queries", name, panel.Title, panel.Type, len(panel.Targets))
			}
		}
		if text := read(t, top, "deploy/monitoring/dashboards", name+".json"); strings.Count(text, `"uid"`) != 1+strings.Count(text, `"uid": "${datasource}"`) {
			t.Errorf("%s: a panel names a data source other than the variable", name)
		}
	}
	for _, q := range queries(t) {
		if len(names(t, q)) == 0 {
			t.Errorf("%s reads no metric: %s", q.from, q.expr)
		}
	}
}

// TestPictures: the pictures of the documentation have all panels, and are small.
func TestPictures(t *testing.T) {
	for name, d := range dashboards(t) {
		picture := read(t, top, "docs/monitoring", name+".svg")
		if len(picture) > 100_000 {
			t.Errorf("docs/monitoring/%s.svg has %d bytes", name, len(picture))
		}
		for _, panel := range d.Panels {
			if !strings.Contains(picture, ">"+html.EscapeString(panel.Title)+"</text>") {
				t.Errorf("docs/monitoring/%s.svg lacks the panel %q: run make picture-dashboards", name, panel.Title)
			}
		}
		if !strings.Contains(read(t, top, "docs/monitoring.md"), "](monitoring/"+name+".svg)") {
			t.Errorf("docs/monitoring.md does not show monitoring/%s.svg", name)
		}
	}
}
