package postgres

import (
	"slices"
	"strings"
	"testing"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

func TestLayout(t *testing.T) {
	all := neededTables()
	without := func(missing ...string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(table string) bool { return slices.Contains(missing, table) })
	}
	ours := slices.DeleteFunc(slices.Clone(all), func(table string) bool {
		return !strings.HasPrefix(table, "hub_of_hubs.") && table != "status.managedclusteraddons"
	})
	newest := newestMigration()
	cases := []struct {
		name              string
		version           int32
		present, readable []string
		// want are parts of the reason; none means that there is a log.
		want []string
		left []status.Kind
	}{
		{"migrated and granted", newest, all, all, nil, nil},
		{"migrated by a later version", newest + 1, all, all, nil, nil},
		{"not migrated: the remedy is both", 0, without(ours...), without(ours...),
			[]string{"not migrated", "`hub-of-hubs-status-sync migrate`", `GRANT hub_of_hubs_status_reader TO reader`, "not synced: AddOnSummary"},
			[]status.Kind{status.KindAddOnSummary}},
		{"migrated, not granted: the remedy is the grant alone", 0, all, without(ours...),
			[]string{`the user reader cannot read hub_of_hubs.change_log, `, "GRANT", "AddOnSummary (cannot read status.managedclusteraddons)"},
			[]status.Kind{status.KindAddOnSummary}},
		{"in the middle of the migrations", newest - 1, all, all, []string{"at version", "is needed: run"}, []status.Kind{status.KindAddOnSummary}},
		{"a table of one kind is missing", 0, without("status.placementrules"), without("status.placementrules"),
			[]string{"PlacementRule (cannot read status.placementrules)"}, []status.Kind{status.KindPlacementRule, status.KindAddOnSummary}},
		{"a table of two kinds cannot be read", newest, all, without("spec.placements"),
			[]string{`cannot read spec.placements: GRANT`, "Placement (cannot read spec.placements), PlacementDecision (cannot read spec.placements)"},
			[]status.Kind{status.KindPlacement, status.KindPlacementDecision, status.KindAddOnSummary}},
		{"no heartbeats", newest, all, without(heartbeatTable), []string{"stale leaf hubs (cannot read status.leaf_hub_heartbeats)"},
			[]status.Kind{status.KindAddOnSummary}},
		{"nothing to read", 0, nil, nil, []string{"not migrated"}, []status.Kind{status.KindPolicy, status.KindPlacementRule, status.KindPlacement,
			status.KindPlacementDecision, status.KindSubscriptionStatus, status.KindSubscriptionReport, status.KindAddOnSummary}},
	}
	for _, c := range cases {
		l := newLayout("reader", "reader", c.version, c.present, c.readable)
		if (l.unlogged == "") != (c.want == nil) {
			t.Errorf("%s: the reason is %q", c.name, l.unlogged)
		}
		for _, want := range c.want {
			if !strings.Contains(l.unlogged, want) {
				t.Errorf("%s: %q is not in %q", c.name, want, l.unlogged)
			}
		}
		for _, kind := range aggregatedKinds {
			if left := slices.Contains(c.left, kind.kind); l.reads(kind) == left {
				t.Errorf("%s: %s is left out: %v, want %v", c.name, kind.kind, !l.reads(kind), left)
			}
		}
		if want := len(c.left) == len(aggregatedKinds); l.readsNothing() != want {
			t.Errorf("%s: reads nothing: %v", c.name, l.readsNothing())
		}
	}
}
