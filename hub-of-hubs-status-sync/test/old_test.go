//go:build postgres

package hubofhubs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest/original"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer"
)

// TestOldDatabase: a database as the users of the original have it, with their rows.
// The sync waits until it is migrated, and then has what was there before.
func TestOldDatabase(t *testing.T) {
	w := emptyWorldOn(t, database)
	w.must(original.Create(t.Context(), w.server, w.owner))
	id := w.policy("policy")
	w.comply(id, "hub1", "a", "non_compliant")
	before, fails := w.version(status.KindPolicy, "policy"), w.failures("all", "database")
	w.sync(func(o *syncer.Options) { o.DatabaseURL = w.owner })
	w.eventually("it has tried", func() error {
		if w.failures("all", "database") == fails {
			return errors.New("not yet")
		}
		return nil
	})
	if w.version(status.KindPolicy, "policy") != before {
		t.Error("a policy was written from a database that is not migrated")
	}
	w.migrate()
	w.converge()
	w.field(status.KindPolicy, w.namespace, "policy", "NonCompliant", "status", "compliant")
}

// bridge writes as the original's transport bridge does.
func (w *world) bridge() *original.Bridge {
	w.Helper()
	bridge, err := original.NewBridge(w.Context(), w.server, w.owner)
	w.must(err)
	w.Cleanup(func() { _ = bridge.Close(context.WithoutCancel(w.Context())) })
	return bridge
}

// TestOriginalWriter: the transport bridge of the original writes a leaf hub's rows of all six kinds, beside a report of this
// project, into a database that a later version migrated: that version may add columns at the end, with defaults.
func TestOriginalWriter(t *testing.T) {
	w := emptyWorldOn(t, database)
	w.must(original.Create(t.Context(), w.server, w.owner))
	w.migrate()
	w.exec("UPDATE hub_of_hubs.schema_version SET version = version + 10")
	for _, table := range append(slices.Clone(originalTables), "compliance", "leaf_hub_heartbeats") {
		w.exec("ALTER TABLE status." + table + " ADD COLUMN added_at timestamptz NOT NULL DEFAULT now()")
	}
	ids := w.oneOfEach()
	bridge := w.bridge()
	w.must(bridge.Beat(t.Context(), "hub3"))
	w.sync()
	leafHub := w.elsewhere()
	leafHub.report()
	w.converge()
	write := func(batches ...original.Batch) {
		for _, batch := range batches {
			w.must(bridge.Send(t.Context(), batch))
		}
		w.converge()
	}

	t.Log("rows of a leaf hub appear")
	policies := original.Policies{LeafHub: "hub3"}
	for _, cluster := range []string{"a", "b"} {
		policies.Insert = append(policies.Insert, original.Cluster{Policy: ids["policy"], Name: cluster, Compliance: "non_compliant"})
	}
	objects := w.bundles("hub3", ids, 1)
	write(append(objects, policies)...)
	w.field(status.KindPlacementRule, w.namespace, "rule", decisionsOfRule("a", "b", "hub3-000"), "status", "decisions")
	w.field(status.KindPlacement, w.namespace, "placement", 154, "status", "numberOfSelectedClusters")
	w.field(status.KindSubscriptionReport, w.namespace, "subscription", "4", "summary", "clusters")
	w.decided("placement-decision-2", 54)

	t.Log("rows change")
	write(original.Policies{LeafHub: "hub3", Update: []original.Cluster{{Policy: ids["policy"], Name: "a", Compliance: "compliant"}}},
		original.Policies{LeafHub: "hub3", UpdatePolicies: []original.Cluster{{Policy: ids["policy"], Compliance: "compliant"}}},
		original.Policies{LeafHub: "hub1", Update: []original.Cluster{{Policy: ids["policy"], Name: "a", Compliance: "compliant"}}})
	w.field(status.KindPolicy, w.namespace, "policy", "Compliant", "status", "compliant")
	objects = w.bundles("hub3", ids, 2)
	for i, batch := range objects {
		changed := batch.(original.Objects)
		changed.Insert, changed.Update = nil, changed.Insert
		objects[i] = changed
	}
	write(objects...)
	w.field(status.KindPlacement, w.namespace, "placement", 155, "status", "numberOfSelectedClusters")
	w.field(status.KindSubscriptionReport, w.namespace, "subscription", "5", "summary", "clusters")
	w.decided("placement-decision-2", 55)

	t.Log("rows go")
	for i, batch := range objects {
		changed := batch.(original.Objects)
		changed.Delete, changed.Update = []string{changed.Update[0].ID}, nil
		objects[i] = changed
	}
	write(append(objects, original.Policies{LeafHub: "hub3", Delete: []original.Cluster{{Policy: ids["policy"], Name: "a"}}},
		original.Policies{LeafHub: "hub1", DeletePolicies: []string{ids["policy"]}})...)
	w.field(status.KindPlacementRule, w.namespace, "rule", decisionsOfRule("a", "b"), "status", "decisions")
	w.field(status.KindPlacement, w.namespace, "placement", 153, "status", "numberOfSelectedClusters")
	w.field(status.KindSubscriptionReport, w.namespace, "subscription", "3", "summary", "clusters")
	w.decided("placement-decision-2", 53)

	// Ours beside theirs.
	leaf := leafHub.onLeaf(entryOf(status.KindPolicy).Object, "on-leaf", ids["policy"],
		map[string]any{"spec": map[string]any{"disabled": false, "policy-templates": []any{}}})
	w.leafStatus(leaf, complianceStatus("a", "NonCompliant"))
	w.field(status.KindPolicy, w.namespace, "policy", "NonCompliant", "status", "compliant")
	w.converge()
}

// originalTables are those of whole objects.
var originalTables = []string{"placementrules", "placements", "placementdecisions", "subscription_statuses", "subscription_reports"}

// bundles inserts a row into each of originalTables, for a leaf hub on which each object has that many clusters.
func (w *world) bundles(leafHub string, ids map[string]string, clusters int) []original.Batch {
	w.Helper()
	names := many(leafHub, clusters)
	rows := map[string]original.Object{
		"placementrules":     {ID: ids["rule"], Payload: w.named("rule", map[string]any{"status": map[string]any{"decisions": decisionsOfRule(names...)}})},
		"placements":         {ID: ids["placement"], Payload: w.named("placement", map[string]any{"status": map[string]any{"numberOfSelectedClusters": clusters}})},
		"placementdecisions": {ID: someID + "7", Payload: w.named("placement-decision-1", decisionObject("placement", names...))},
		"subscription_statuses": {ID: someID + "7", Payload: w.named("subscription", map[string]any{"statuses": map[string]any{
			"packages": []any{map[string]any{"name": fmt.Sprintf("web-%d", clusters), "kind": "Deployment", "phase": "Deployed", "lastUpdateTime": "2026-01-01T00:00:00Z"}}}})},
		"subscription_reports": {ID: someID + "7", Payload: w.named("subscription", map[string]any{"reportType": "Application",
			"summary": map[string]any{"clusters": fmt.Sprint(clusters), "deployed": "1", "failed": "0", "inProgress": "0", "propagationFailed": "0"}})},
	}
	var batches []original.Batch
	for _, table := range originalTables {
		batches = append(batches, original.Objects{Table: table, LeafHub: leafHub, Insert: []original.Object{rows[table]}})
	}
	return batches
}

// decided fails the test unless a PlacementDecision has that many clusters.
func (w *world) decided(name string, want int) {
	w.Helper()
	w.eventually(fmt.Sprintf("PlacementDecision %s has %d clusters", name, want), func() error {
		object, err := w.get(entryOf(status.KindPlacementDecision).Object, w.namespace, name)
		if err != nil {
			return err
		}
		got, _, err := unstructured.NestedSlice(object.Object, "status", "decisions")
		if err == nil && len(got) != want {
			err = fmt.Errorf("it has %d", len(got))
		}
		return err
	})
}
