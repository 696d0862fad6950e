//go:build postgres

package hubofhubs

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer"
)

// TestGarbage: a row that cannot be decoded leaves its object unchanged and does not
// delay others; when it is repaired, the object is updated.
func TestGarbage(t *testing.T) {
	w := newWorld(t)
	gvk := entryOf(status.KindPlacementRule).Object
	good := w.known(gvk, "placementrules", "good", map[string]any{}, status.KindPlacementRule)
	bad := w.known(gvk, "placementrules", "bad", map[string]any{}, status.KindPlacementRule)
	w.row("placementrules", "hub1", "bad", bad, map[string]any{"status": map[string]any{"decisions": decisionsOfRule("a")}})
	w.sync()
	w.converge()
	before := w.version(status.KindPlacementRule, "bad")
	w.row("placementrules", "hub2", "bad", bad, map[string]any{"status": "garbage"})
	w.row("placementrules", "hub2", "good", good, map[string]any{"status": map[string]any{"decisions": decisionsOfRule("b")}})
	w.field(status.KindPlacementRule, w.namespace, "good", decisionsOfRule("b"), "status", "decisions")
	if w.version(status.KindPlacementRule, "bad") != before {
		t.Error("an object with a row that cannot be read was written")
	}
	w.row("placementrules", "hub2", "bad", bad, map[string]any{"status": map[string]any{"decisions": decisionsOfRule("c")}})
	w.converge()
	w.field(status.KindPlacementRule, w.namespace, "bad", decisionsOfRule("a", "c"), "status", "decisions")
}

// TestDeletedByHand: an object that the syncer makes comes back; one that it
// does not make does not, and another one of the name is not taken for it.
func TestDeletedByHand(t *testing.T) {
	w := newWorld(t)
	ids := w.oneOfEach()
	w.sync()
	w.converge()
	second, err := w.get(entryOf(status.KindPlacementDecision).Object, w.namespace, "placement-decision-2")
	w.must(err)
	w.must(w.client.Delete(w.Context(), second)) // the first stays as it is
	w.converge()
	for _, kind := range []status.Kind{status.KindPlacementDecision, status.KindSubscriptionReport, status.KindSubscriptionStatus} {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(entryOf(kind).Object)
		w.must(w.client.DeleteAllOf(w.Context(), object, client.InNamespace(w.namespace)))
	}
	w.converge()

	policy, err := w.get(entryOf(status.KindPolicy).Object, w.namespace, "policy")
	w.must(err)
	w.must(w.client.Delete(w.Context(), policy))
	again := w.create(entryOf(status.KindPolicy).Object, w.namespace, "policy", map[string]any{"disabled": true, "policy-templates": []any{}})
	w.comply(ids["policy"], "hub1", "z", "non_compliant")
	w.row("placementrules", "hub1", "rule", ids["rule"], map[string]any{"status": map[string]any{"decisions": decisionsOfRule("later")}})
	w.eventually("a later change is written", func() error {
		object, err := w.get(entryOf(status.KindPlacementRule).Object, w.namespace, "rule")
		if err != nil || !strings.Contains(asJSON(object.Object["status"]).(string), "later") {
			return fmt.Errorf("not yet: %w", err)
		}
		return nil
	})
	if got := w.version(status.KindPolicy, "policy"); got != again.GetResourceVersion() {
		t.Error("a policy with another uid than the row's was written")
	}
	// The spec sync writes the new one's row, and the leaf hubs follow.
	w.exec("DELETE FROM spec.policies WHERE id = $1", ids["policy"])
	w.specRow("policies", again)
	w.comply(string(again.GetUID()), "hub1", "a", "compliant")
	w.field(status.KindPolicy, w.namespace, "policy", "Compliant", "status", "compliant")
}

// TestChangedByHand: a manual change of a status is reverted.
func TestChangedByHand(t *testing.T) {
	w := newWorld(t)
	id := w.policy("policy")
	w.comply(id, "hub1", "a", "non_compliant")
	w.sync()
	w.converge()
	policy, err := w.get(entryOf(status.KindPolicy).Object, w.namespace, "policy")
	w.must(err)
	w.must(unstructured.SetNestedField(policy.Object, "Compliant", "status", "compliant"))
	w.must(w.client.Status().Update(w.Context(), policy))
	w.converge()
}

// TestNotInSpec: an object that the spec sync does not know, or has marked as
// deleted, stays as it is, whatever rows there are.
func TestNotInSpec(t *testing.T) {
	w := newWorld(t)
	spec := map[string]any{"disabled": false, "policy-templates": []any{}}
	other := w.policy("other")
	unknown := w.create(entryOf(status.KindPolicy).Object, w.namespace, "unknown", spec)
	w.leafStatus(unknown, complianceStatus("other", "Compliant"))
	w.comply(string(unknown.GetUID()), "hub1", "a", "non_compliant")
	marked := w.policy("marked")
	w.comply(marked, "hub1", "a", "compliant")
	w.sync()
	w.converge()
	w.exec("UPDATE spec.policies SET deleted = true WHERE id = $1", marked)
	w.exec("DELETE FROM status.compliance WHERE id = $1", marked)
	w.keys = w.keys[:1]
	w.comply(other, "hub1", "a", "unknown")
	w.converge()
	w.field(status.KindPolicy, w.namespace, "marked", "Compliant", "status", "compliant")
	if got := w.version(status.KindPolicy, "unknown"); got != unknown.GetResourceVersion() {
		t.Error("a policy without a row in spec was written")
	}
	w.specRow("policies", unknown)
	w.field(status.KindPolicy, w.namespace, "unknown", "NonCompliant", "status", "compliant")
}

// TestForeign: an object of the same name with another owner is left alone.
func TestForeign(t *testing.T) {
	w := newWorld(t)
	foreign := &unstructured.Unstructured{Object: map[string]any{"reportType": "Application"}}
	foreign.SetGroupVersionKind(entryOf(status.KindSubscriptionReport).Object)
	foreign.SetNamespace(w.namespace)
	foreign.SetName("subscription")
	w.must(w.client.Create(t.Context(), foreign))
	w.oneOfEach()
	w.sync()
	w.field(status.KindPolicy, w.namespace, "policy", "NonCompliant", "status", "compliant")
	w.field(status.KindSubscriptionStatus, w.namespace, "subscription", "Deployed", "statuses", "subscription", "phase")
	if got := w.version(status.KindSubscriptionReport, "subscription"); got != foreign.GetResourceVersion() {
		t.Error("another owner's SubscriptionReport was written")
	}
}

// TestStaleHub: a leaf hub whose heartbeat is old is shown as stale, and as well
// again when it beats.
func TestStaleHub(t *testing.T) {
	w := newWorld(t)
	id := w.policy("policy")
	w.comply(id, "hub1", "a", "compliant")
	w.comply(id, "hub2", "b", "compliant")
	w.beat("hub1", 0)
	w.beat("hub2", 0)
	w.sync()
	w.field(status.KindPolicy, w.namespace, "policy", "Compliant", "status", "compliant")
	w.beat("hub2", time.Hour)
	w.field(status.KindPolicy, w.namespace, "policy", nil, "status", "compliant")
	w.field(status.KindPolicy, w.namespace, "policy", []any{
		map[string]any{"clustername": "a", "clusternamespace": "a", "compliant": "Compliant"},
		map[string]any{"clustername": "b", "clusternamespace": "b"},
	}, "status", "status")
	w.beat("hub2", 0)
	w.field(status.KindPolicy, w.namespace, "policy", "Compliant", "status", "compliant")
}

// TestTooLarge: a policy on more clusters than an object can hold is summarised,
// and one whose spec leaves less room than is usual is, too.
func TestTooLarge(t *testing.T) {
	w := newWorld(t)
	fill := `INSERT INTO status.compliance (id, cluster_name, leaf_hub_name, error, compliance)
SELECT $1, 'a-cluster-with-quite-a-long-name-' || i, 'hub1', 'none', (CASE WHEN i % 1000 = 0 THEN 'non_compliant' ELSE 'compliant' END)::status.compliance_type
FROM generate_series(1, 20000) i`
	usual := w.policy("usual")
	w.exec(fill, usual)
	padded := w.create(entryOf(status.KindPolicy).Object, w.namespace, "padded", map[string]any{"disabled": false,
		"policy-templates": []any{map[string]any{"objectDefinition": map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": "padding"}, "data": map[string]any{"padding": strings.Repeat("x", 1300<<10)}}}}})
	w.exec("INSERT INTO spec.policies (id, payload) VALUES ($1, $2)", string(padded.GetUID()),
		fmt.Sprintf(`{"metadata":{"name":"padded","namespace":%q}}`, w.namespace))
	w.exec(fill, string(padded.GetUID()))
	w.sync()
	for _, name := range []string{"usual", "padded"} {
		w.field(status.KindPolicy, w.namespace, name, "NonCompliant", "status", "compliant")
		object, err := w.get(entryOf(status.KindPolicy).Object, w.namespace, name)
		w.must(err)
		if text := asJSON(object.Object["status"]).(string); !strings.Contains(text, "of 20000 clusters listed: 20 NonCompliant, 0 unknown, 19980 Compliant") ||
			strings.Count(text, `"NonCompliant"`) < 20 {
			t.Errorf("%s is not summarised: %.300s", name, text)
		}
	}
}

// TestWatchNamespace: only the namespaces that are named are written.
func TestWatchNamespace(t *testing.T) {
	w := newWorld(t)
	inside := w.policy("inside")
	w.comply(inside, "hub1", "a", "compliant")
	outside := w.create(entryOf(status.KindPolicy).Object, metav1.NamespaceDefault, w.namespace, map[string]any{"disabled": false, "policy-templates": []any{}})
	w.Cleanup(func() { w.must(w.client.Delete(context.WithoutCancel(t.Context()), outside)) })
	w.specRow("policies", outside)
	w.comply(string(outside.GetUID()), "hub1", "a", "compliant")
	w.sync(func(o *syncer.Options) { o.WatchNamespaces = []string{w.namespace, "another"} })
	w.converge()
	if got, err := w.get(entryOf(status.KindPolicy).Object, metav1.NamespaceDefault, w.namespace); err != nil || got.Object["status"] != nil {
		t.Errorf("a policy outside the watched namespaces was written: %v %v", got.Object["status"], err)
	}
}

// TestEveryNamespace: where no namespace is named, all are written.
func TestEveryNamespace(t *testing.T) {
	w := newWorld(t)
	id := w.policy("policy")
	w.comply(id, "hub1", "a", "compliant")
	other := w.elsewhere()
	id = other.policy("policy")
	other.comply(id, "hub1", "a", "non_compliant")
	w.sync(func(o *syncer.Options) { o.WatchNamespaces = nil })
	w.converge()
	other.converge()
	w.field(status.KindPolicy, w.namespace, "policy", "Compliant", "status", "compliant")
	w.field(status.KindPolicy, other.namespace, "policy", "NonCompliant", "status", "compliant")
}
