//go:build postgres

package hubofhubs

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest/original"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer"
)

// TestOldDatabase: a database as the users of the original have it, with its user and its writer. The sync scans it. When
// it is migrated, and its user has the reader's role, the same process follows the change log.
func TestOldDatabase(t *testing.T) {
	w := emptyWorldOn(t, database)
	w.must(original.Create(t.Context(), w.server, w.owner))
	ids := w.oneOfOriginal()
	user, err := w.server.NewUser(t.Context(), w.owner, original.ProcessUser)
	w.must(err)
	n, fails := &noting{}, w.failures("all", "database")
	w.syncNoting(n, func(o *syncer.Options) { o.DatabaseURL = user })
	w.converge()
	w.field(status.KindPolicy, w.namespace, "policy", "NonCompliant", "status", "compliant")
	w.bridgeFollowed(w.bridge(), ids)
	if fails != w.failures("all", "database") || w.metric("change_log", nil) != 0 {
		t.Errorf("%v polls failed while scanning, and the gauge change_log is %v", w.failures("all", "database")-fails, w.metric("change_log", nil))
	}

	w.migrate()
	w.oneAddOn()
	parsed, err := url.Parse(user)
	w.must(err)
	w.exec("GRANT hub_of_hubs_status_reader TO " + parsed.User.Username())
	w.converge()
	w.quiet(n)
	if w.metric("change_log", nil) != 1 {
		t.Error("the gauge change_log is not 1 after the migration")
	}
	w.must(w.bridge().Send(t.Context(), original.Policies{LeafHub: "hub3", UpdatePolicies: []original.Cluster{{Policy: ids["policy"], Compliance: "non_compliant"}}}))
	w.converge()
	if diff := cmp.Diff([]status.Key{{Kind: status.KindPolicy, ID: ids["policy"]}}, n.read()); diff != "" {
		t.Errorf("whose rows were read (-want +got):\n%s", diff)
	}
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
	w.bridgeFollowed(bridge, ids)

	// Ours beside theirs.
	leaf := leafHub.onLeaf(entryOf(status.KindPolicy).Object, "on-leaf", ids["policy"],
		map[string]any{"spec": map[string]any{"disabled": false, "policy-templates": []any{}}})
	w.leafStatus(leaf, complianceStatus("a", "NonCompliant"))
	w.field(status.KindPolicy, w.namespace, "policy", "NonCompliant", "status", "compliant")
	w.converge()
}

// bridgeFollowed lets the bridge insert, change and delete rows of all six kinds of a leaf hub, hub3, and waits each time
// until the objects follow.
func (w *world) bridgeFollowed(bridge *original.Bridge, ids map[string]string) {
	w.Helper()
	write := func(batches ...original.Batch) {
		for _, batch := range batches {
			w.must(bridge.Send(w.Context(), batch))
		}
		w.converge()
	}

	w.Log("rows of a leaf hub appear")
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

	w.Log("rows change")
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

	w.Log("rows go")
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
