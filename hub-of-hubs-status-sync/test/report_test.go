//go:build postgres

package hubofhubs

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/postgres"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/reporter"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

const originAnnotation = "hub-of-hubs.open-cluster-management.io/originOwnerReferenceUid"

// report starts a status report of the test's namespace, as leaf hub "leaf".
func (w *world) report(change ...func(*reporter.Options)) *running {
	w.Helper()
	return w.reportThrough(func(store reporter.Store) reporter.Store { return store }, change...)
}

// reportThrough starts a status report that sees the database through something.
func (w *world) reportThrough(through func(reporter.Store) reporter.Store, change ...func(*reporter.Options)) *running {
	w.Helper()
	opts := reporter.NewOptions()
	var err error
	opts.DatabaseURL, err = w.server.NewUser(w.Context(), w.owner, "hub_of_hubs_status_writer")
	w.must(err)
	opts.LeafHubName = "leaf"
	opts.WatchNamespaces = []string{w.namespace}
	opts.PodNamespace = ownNamespace
	opts.Kubeconfig = w.kubeconfig("hub-of-hubs-status-report", address(hub))
	opts.LeaderElect = false
	opts.MetricsAddr, opts.ProbeAddr = "0", "0"
	for _, c := range change {
		c(opts)
	}
	w.must(opts.Validate())
	return w.start(func(ctx context.Context) error {
		return reporter.Run(ctx, opts, func(ctx context.Context, url string) (reporter.Store, error) {
			store, err := postgres.Open(ctx, postgres.Options{URL: url})
			if err != nil {
				return nil, err
			}
			return through(store), nil
		})
	})
}

// elsewhere is another namespace, for a leaf hub that is not the global hub.
func (w *world) elsewhere() *world {
	w.Helper()
	leaf := *w
	leaf.namespace, leaf.keys = w.namespace+"-leaf", nil
	leaf.create(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "", leaf.namespace, nil)
	return &leaf
}

// onLeaf creates an object as a leaf hub has it: with the uid of the global hub's
// in its annotation, if it has one.
func (w *world) onLeaf(gvk schema.GroupVersionKind, name, origin string, content map[string]any) *unstructured.Unstructured {
	w.Helper()
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(gvk)
	object.SetNamespace(w.namespace)
	object.SetName(name)
	if origin != "" {
		object.SetAnnotations(map[string]string{originAnnotation: origin})
	}
	w.must(w.client.Create(w.Context(), object))
	return object
}

// leafStatus writes an object's status, as its controller on the leaf hub does.
func (w *world) leafStatus(object *unstructured.Unstructured, value map[string]any) {
	w.Helper()
	object.Object["status"] = value
	w.must(w.client.Status().Update(w.Context(), object))
}

func complianceStatus(pairs ...string) map[string]any {
	list := []any{}
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, map[string]any{"clustername": pairs[i], "clusternamespace": pairs[i], "compliant": pairs[i+1]})
	}
	return map[string]any{"status": list}
}

// says waits until a query has an answer.
func (w *world) says(want, sql string, args ...any) {
	w.Helper()
	w.eventually(fmt.Sprintf("%s: %s", sql, want), func() error {
		got, err := w.answer(sql, args...)
		if err == nil && got != want {
			err = fmt.Errorf("it is %s", got)
		}
		return err
	})
}

const allCompliance = `SELECT coalesce(string_agg(id || ' ' || cluster_name || ' ' || compliance, ', ' ORDER BY id, cluster_name), '')
FROM status.compliance WHERE leaf_hub_name = 'leaf'`

// TestReport: a leaf hub's objects become rows, change, and go; what the leaf hub
// has for itself is not reported.
func TestReport(t *testing.T) {
	w := newWorld(t)
	spec := func() map[string]any {
		return map[string]any{"spec": map[string]any{"disabled": false, "policy-templates": []any{}}}
	}
	gvk := entryOf(status.KindPolicy).Object
	policy := w.onLeaf(gvk, "policy", someID+"1", spec())
	w.leafStatus(policy, complianceStatus("a", "Compliant", "b", "NonCompliant", "c", "Pending"))
	w.leafStatus(w.onLeaf(gvk, "local", "", spec()), complianceStatus("a", "Compliant"))
	rule := w.onLeaf(entryOf(status.KindPlacementRule).Object, "rule", someID+"2", map[string]any{"spec": map[string]any{}})
	w.leafStatus(rule, map[string]any{"decisions": decisionsOfRule("a")})
	decision := w.onLeaf(entryOf(status.KindPlacementDecision).Object, "d", "", map[string]any{})
	w.leafStatus(decision, map[string]any{"decisions": []any{map[string]any{"clusterName": "a", "reason": ""}}})
	addOn := w.onLeaf(schema.GroupVersionKind{Group: "addon.open-cluster-management.io", Version: "v1alpha1", Kind: "ManagedClusterAddOn"},
		"helloworld", "", map[string]any{"spec": map[string]any{}})
	w.onLeaf(addOn.GroupVersionKind(), "another", "", map[string]any{"spec": map[string]any{}})
	first := w.report()

	w.says(someID+"1 a compliant, "+someID+"1 b non_compliant, "+someID+"1 c unknown", allCompliance)
	w.says("a", `SELECT coalesce(min(payload #>> '{status,decisions,0,clusterName}'), '') FROM status.placementrules WHERE leaf_hub_name = 'leaf' AND id = $1`, someID+"2")
	w.says("1", `SELECT count(*)::text FROM status.placementdecisions WHERE id = $1`, string(decision.GetUID()))
	w.says(string(addOn.GetUID()), `SELECT coalesce(string_agg(id::text, ','), '') FROM status.managedclusteraddons`)
	w.says("1", `SELECT count(*)::text FROM status.leaf_hub_heartbeats WHERE leaf_hub_name = 'leaf'`)

	t.Log("changes")
	w.leafStatus(policy, complianceStatus("a", "NonCompliant", "d", "Compliant"))
	w.says(someID+"1 a non_compliant, "+someID+"1 d compliant", allCompliance)
	w.must(w.client.Delete(t.Context(), rule))
	w.says("0", `SELECT count(*)::text FROM status.placementrules`)

	t.Log("what is deleted while no report runs")
	w.must(first.stop())
	w.must(w.client.Delete(t.Context(), policy))
	w.must(w.client.Delete(t.Context(), decision))
	w.exec(`INSERT INTO status.compliance (id, cluster_name, leaf_hub_name, error, compliance) VALUES ($1, 'x', 'other', 'none', 'compliant')`, someID+"1")
	w.report()
	w.says("", allCompliance)
	w.says("0", `SELECT count(*)::text FROM status.placementdecisions`)
	w.says("1", `SELECT count(*)::text FROM status.managedclusteraddons`)
	w.says("1", `SELECT count(*)::text FROM status.compliance WHERE leaf_hub_name = 'other'`)
}

// TestReportCopiedPolicy: a copy of a policy has its annotation, too. Its rows are
// the original's, also when the copy goes.
func TestReportCopiedPolicy(t *testing.T) {
	w := newWorld(t)
	spec := func() map[string]any {
		return map[string]any{"spec": map[string]any{"disabled": false, "policy-templates": []any{}}}
	}
	gvk := entryOf(status.KindPolicy).Object
	w.leafStatus(w.onLeaf(gvk, "a-policy", someID+"1", spec()), complianceStatus("a", "Compliant"))
	w.report()
	w.says(someID+"1 a compliant", allCompliance)
	copied := w.onLeaf(gvk, "copy", someID+"1", spec())
	w.leafStatus(copied, complianceStatus("b", "Compliant"))
	w.must(w.client.Delete(t.Context(), copied))
	// What comes after the copy's end is written after it.
	w.leafStatus(w.onLeaf(gvk, "last", someID+"2", spec()), complianceStatus("a", "Compliant"))
	w.says(someID+"1 a compliant, "+someID+"2 a compliant", allCompliance)
}

// TestReportOutage: what changes while the database is away is there when it is
// back, and only the last state.
func TestReportOutage(t *testing.T) {
	// a user that was just made must not be lost with the server
	w := newServerWorld(t, postgrestest.Options{Settings: map[string]string{"synchronous_commit": "on"}})
	policy := w.onLeaf(entryOf(status.KindPolicy).Object, "policy", someID+"1",
		map[string]any{"spec": map[string]any{"disabled": false, "policy-templates": []any{}}})
	w.leafStatus(policy, complianceStatus("a", "Compliant"))
	w.report()
	w.says(someID+"1 a compliant", allCompliance)
	w.must(w.server.Kill())
	w.leafStatus(policy, complianceStatus("a", "NonCompliant", "b", "Compliant"))
	w.leafStatus(policy, complianceStatus("a", "NonCompliant", "c", "Compliant"))
	w.must(w.server.Resume(t.Context()))
	w.says(someID+"1 a non_compliant, "+someID+"1 c compliant", allCompliance)
}

// TestReportEveryKind: the other kinds become rows as they are, and so does a
// cluster that the leaf hub has lost.
func TestReportEveryKind(t *testing.T) {
	w := newWorld(t)
	placement := w.onLeaf(entryOf(status.KindPlacement).Object, "placement", someID+"3", map[string]any{"spec": map[string]any{}})
	w.leafStatus(placement, map[string]any{"numberOfSelectedClusters": int64(3)})
	w.onLeaf(entryOf(status.KindPlacement).Object, "local", "", map[string]any{"spec": map[string]any{}})
	w.onLeaf(entryOf(status.KindSubscriptionStatus).Object, "s", "", map[string]any{"statuses": map[string]any{
		"subscription": map[string]any{"phase": "Failed", "lastUpdateTime": "2026-01-01T00:00:00Z"}}})
	w.onLeaf(entryOf(status.KindSubscriptionReport).Object, "r", "", map[string]any{"reportType": "Application",
		"summary": map[string]any{"clusters": "5"}})
	cluster := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"hubAcceptsClient": true}}}
	cluster.SetGroupVersionKind(schema.GroupVersionKind{Group: "cluster.open-cluster-management.io", Version: "v1", Kind: "ManagedCluster"})
	cluster.SetName(w.namespace)
	w.must(w.client.Create(t.Context(), cluster))
	w.Cleanup(func() { w.must(client.IgnoreNotFound(w.client.Delete(context.WithoutCancel(t.Context()), cluster))) })
	w.report()
	w.says("placement 3", `SELECT string_agg(concat(payload #>> '{metadata,name}', ' ', payload #>> '{status,numberOfSelectedClusters}'), ',') FROM status.placements`)
	w.says("s Failed", `SELECT concat(payload #>> '{metadata,name}', ' ', payload #>> '{statuses,subscription,phase}') FROM status.subscription_statuses`)
	w.says("r 5", `SELECT concat(payload #>> '{metadata,name}', ' ', payload #>> '{summary,clusters}') FROM status.subscription_reports`)
	const clusters = `SELECT string_agg(error::text, ',') FROM status.managed_clusters WHERE payload #>> '{metadata,name}' = $1`
	w.says("none", clusters, w.namespace)
	w.leafStatus(cluster, map[string]any{"version": map[string]any{}, "conditions": []any{map[string]any{"type": "ManagedClusterConditionAvailable",
		"status": "Unknown", "reason": "ManagedClusterLeaseUpdateStopped", "message": "lost", "lastTransitionTime": "2026-01-01T00:00:00Z"}}})
	w.says("disconnected", clusters, w.namespace)
	w.must(w.client.Delete(t.Context(), cluster))
	w.says("0", `SELECT count(*)::text FROM status.managed_clusters WHERE payload #>> '{metadata,name}' = $1`, w.namespace)
}

// TestChain: what a leaf hub's object says arrives at the global hub's.
func TestChain(t *testing.T) {
	w := newWorld(t)
	global := w.policy("global")
	local := w.onLeaf(entryOf(status.KindPolicy).Object, "on-leaf", global,
		map[string]any{"spec": map[string]any{"disabled": false, "policy-templates": []any{}}})
	w.report()
	w.sync()
	for _, compliance := range []string{"NonCompliant", "Compliant", "NonCompliant"} {
		w.leafStatus(local, complianceStatus("a", compliance))
		w.field(status.KindPolicy, w.namespace, "global", compliance, "status", "compliant")
		object, err := w.get(entryOf(status.KindPolicy).Object, w.namespace, "on-leaf")
		w.must(err)
		local = object
	}
	t.Log("and this add-on")
	addOn := w.onLeaf(schema.GroupVersionKind{Group: "addon.open-cluster-management.io", Version: "v1alpha1", Kind: "ManagedClusterAddOn"},
		"helloworld", "", map[string]any{"spec": map[string]any{}})
	for synced, count := range map[string]int{"True": 1, "False": 0} {
		w.leafStatus(addOn, map[string]any{"conditions": []any{map[string]any{"type": "ConfigMapsSynced", "status": synced,
			"reason": "Synced", "message": "of 1", "lastTransitionTime": "2026-01-01T00:00:00Z"}}})
		w.field(status.KindAddOnSummary, "", "helloworld", count, "status", "configMapsSynced")
		w.field(status.KindAddOnSummary, "", "helloworld", 1, "status", "clusters")
		object, err := w.get(addOn.GroupVersionKind(), w.namespace, "helloworld")
		w.must(err)
		addOn = object
	}
}
