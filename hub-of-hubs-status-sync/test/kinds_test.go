//go:build postgres

package hubofhubs

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

const someID = "00000000-0000-0000-0000-00000000000"

func decisions(clusters ...string) []any {
	list := []any{}
	for _, cluster := range clusters {
		list = append(list, map[string]any{"clusterName": cluster, "clusterNamespace": cluster, "reason": ""})
	}
	return list
}

func many(prefix string, count int) []string {
	names := make([]string, 0, count)
	for i := range count {
		names = append(names, fmt.Sprintf("%s-%03d", prefix, i))
	}
	return names
}

// field fails the test unless a field of an object has a value.
func (w *world) field(kind status.Kind, namespace, name string, want any, path ...string) {
	w.Helper()
	w.eventually(fmt.Sprintf("%s %s has %v at %v", kind, name, want, path), func() error {
		object, err := w.get(entryOf(kind).Object, namespace, name)
		if err != nil {
			return err
		}
		got, _, err := unstructured.NestedFieldNoCopy(object.Object, path...)
		if err != nil {
			return err
		}
		if asJSON(got) != asJSON(want) {
			return fmt.Errorf("it is %v", asJSON(got))
		}
		return nil
	})
}

// TestKinds: each kind from rows to objects, changed, and cleared again.
func TestKinds(t *testing.T) {
	w := newWorld(t)
	ids := w.oneOfEach()
	w.sync()
	w.converge()
	// The values written out, so that the comparison with the aggregates is not
	// the only witness.
	w.field(status.KindPolicy, w.namespace, "policy", "NonCompliant", "status", "compliant")
	w.field(status.KindPlacementRule, w.namespace, "rule", decisionsOfRule("a", "b"), "status", "decisions")
	w.field(status.KindPlacement, w.namespace, "placement", 153, "status", "numberOfSelectedClusters")
	w.field(status.KindPlacementDecision, w.namespace, "placement-decision-2", "placement", "metadata", "labels",
		"cluster.open-cluster-management.io/placement")
	w.field(status.KindSubscriptionReport, w.namespace, "subscription", "3", "summary", "clusters")
	w.field(status.KindAddOnSummary, "", "helloworld", 1, "status", "available")

	t.Log("rows change")
	w.comply(ids["policy"], "hub1", "a", "compliant")
	w.comply(ids["policy"], "hub2", "a", "compliant")
	w.row("placementdecisions", "hub2", "whatever", someID+"4", decisionObject("placement", "only-one"))
	w.converge()
	w.field(status.KindPolicy, w.namespace, "policy", "Compliant", "status", "compliant")

	t.Log("rows go")
	for _, table := range []string{"compliance", "placementrules", "placements", "placementdecisions",
		"subscription_statuses", "subscription_reports", "managedclusteraddons"} {
		w.exec("DELETE FROM status." + table)
	}
	w.converge()
	w.field(status.KindPolicy, w.namespace, "policy", nil, "status", "status")
	w.field(status.KindAddOnSummary, "", "helloworld", 0, "status", "clusters")
}

func decisionsOfRule(clusters ...string) []any {
	list := []any{}
	for _, cluster := range clusters {
		list = append(list, map[string]any{"clusterName": cluster, "clusterNamespace": cluster})
	}
	return list
}

func decisionObject(placement string, clusters ...string) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"cluster.open-cluster-management.io/placement": placement,
			"cluster.open-cluster-management.io/decision-group-index": "0", "cluster.open-cluster-management.io/decision-group-name": ""}},
		"status": map[string]any{"decisions": decisions(clusters...)},
	}
}

// oneOfEach makes an object of each kind, and rows of two hubs.
func (w *world) oneOfEach() map[string]string {
	w.Helper()
	ids := w.oneOfOriginal()
	w.oneAddOn()
	return ids
}

// oneAddOn makes a row of an add-on.
func (w *world) oneAddOn() {
	w.Helper()
	w.keys = append(w.keys, status.Key{Kind: status.KindAddOnSummary, ID: "helloworld"})
	w.row("managedclusteraddons", "hub1", "helloworld", someID+"9", map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": "Available", "status": "True"}, map[string]any{"type": "ConfigMapsSynced", "status": "True"}}}})
}

// oneOfOriginal makes an object of each kind that the original knows, and rows of two hubs.
func (w *world) oneOfOriginal() map[string]string {
	w.Helper()
	subscription := schema.GroupVersionKind{Group: "apps.open-cluster-management.io", Version: "v1", Kind: "Subscription"}
	ids := map[string]string{
		"policy": w.policy("policy"),
		"rule": w.known(entryOf(status.KindPlacementRule).Object, "placementrules", "rule", map[string]any{},
			status.KindPlacementRule),
		"placement": w.known(entryOf(status.KindPlacement).Object, "placements", "placement", map[string]any{},
			status.KindPlacement, status.KindPlacementDecision),
		"subscription": w.known(subscription, "subscriptions", "subscription", map[string]any{"channel": "ns/channel"},
			status.KindSubscriptionStatus, status.KindSubscriptionReport),
	}
	w.comply(ids["policy"], "hub1", "a", "non_compliant")
	w.comply(ids["policy"], "hub2", "a", "compliant")
	w.row("placementrules", "hub2", "rule", ids["rule"], map[string]any{"status": map[string]any{"decisions": decisionsOfRule("b")}})
	w.row("placementrules", "hub1", "rule", ids["rule"], map[string]any{"status": map[string]any{"decisions": decisionsOfRule("a")}})
	for i, hub := range []string{"hub1", "hub2"} {
		clusters := many(hub, 103-i*53)
		w.row("placements", hub, "placement", ids["placement"], map[string]any{"status": map[string]any{
			"numberOfSelectedClusters": len(clusters), "conditions": []any{map[string]any{"type": "PlacementSatisfied", "status": "True",
				"reason": "AllDecisionsScheduled", "message": "all", "lastTransitionTime": "2026-01-01T00:00:00Z"}}}})
		w.row("placementdecisions", hub, "whatever", someID+fmt.Sprint(i), decisionObject("placement", clusters...))
		w.row("subscription_statuses", hub, "subscription", someID+fmt.Sprint(i), map[string]any{"statuses": map[string]any{
			"subscription": map[string]any{"phase": "Deployed", "lastUpdateTime": "2026-01-01T00:00:00Z"},
			"packages":     []any{map[string]any{"name": "web", "kind": "Deployment", "phase": "Deployed", "lastUpdateTime": "2026-01-01T00:00:00Z"}}}})
		w.row("subscription_reports", hub, "subscription", someID+fmt.Sprint(i), map[string]any{"reportType": "Application",
			"summary": map[string]any{"clusters": fmt.Sprint(i + 1), "deployed": "1", "failed": "0", "inProgress": "0", "propagationFailed": "0"},
			"results": []any{map[string]any{"source": hub, "result": "deployed", "timestamp": map[string]any{"seconds": 1, "nanos": 0}}}})
	}
	return ids
}

// TestQuiet: when nothing changes nothing is written, also by a second syncer
// that knows nothing yet, and a change of one object writes no other.
func TestQuiet(t *testing.T) {
	w := newWorld(t)
	ids := w.oneOfEach()
	other := w.policy("other")
	w.comply(other, "hub1", "a", "compliant")
	first := w.sync()
	w.converge()
	objects := map[string]status.Kind{"policy": status.KindPolicy, "rule": status.KindPlacementRule, "placement": status.KindPlacement,
		"placement-decision-1": status.KindPlacementDecision, "subscription": status.KindSubscriptionReport, "other": status.KindPolicy}
	before := map[string]string{}
	for name, kind := range objects {
		before[name] = w.version(kind, name)
	}
	w.must(first.stop())
	w.sync()
	w.comply(ids["policy"], "hub9", "new", "unknown")
	w.converge()
	// Long enough for several looks at everything, had they anything to write.
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
		for name, kind := range objects {
			if after := w.version(kind, name); name != "policy" && after != before[name] {
				t.Fatalf("%s %s was written though nothing of it changed", kind, name)
			}
		}
	}
}
