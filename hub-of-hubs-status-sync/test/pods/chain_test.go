//go:build kind

package pods

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What the scenarios read and write.
var (
	configMaps          = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	addOnSummaries      = schema.GroupVersionKind{Group: "helloworld.open-cluster-management.io", Version: "v1alpha1", Kind: "AddOnSummary"}
	policies            = schema.GroupVersionKind{Group: "policy.open-cluster-management.io", Version: "v1", Kind: "Policy"}
	placements          = schema.GroupVersionKind{Group: "cluster.open-cluster-management.io", Version: "v1beta1", Kind: "Placement"}
	placementDecisions  = schema.GroupVersionKind{Group: "cluster.open-cluster-management.io", Version: "v1beta1", Kind: "PlacementDecision"}
	clusterSetBindings  = schema.GroupVersionKind{Group: "cluster.open-cluster-management.io", Version: "v1beta2", Kind: "ManagedClusterSetBinding"}
	placementRules      = schema.GroupVersionKind{Group: "apps.open-cluster-management.io", Version: "v1", Kind: "PlacementRule"}
	subscriptions       = schema.GroupVersionKind{Group: "apps.open-cluster-management.io", Version: "v1", Kind: "Subscription"}
	subscriptionReports = schema.GroupVersionKind{Group: "apps.open-cluster-management.io", Version: "v1alpha1", Kind: "SubscriptionReport"}
	subscriptionStates  = schema.GroupVersionKind{Group: "apps.open-cluster-management.io", Version: "v1alpha1", Kind: "SubscriptionStatus"}
)

// originAnnotation is what the spec sync of a hub of hubs puts on a leaf hub's objects.
const originAnnotation = "hub-of-hubs.open-cluster-management.io/originOwnerReferenceUid"

// addOnTravels follows a conflict on the leaf hub's managed cluster, and its end.
func addOnTravels(t *testing.T, w *world) {
	start := time.Now()
	summary := func(path string, want int64) func(context.Context) error {
		return w.global.field(addOnSummaries, "", "helloworld", want, "status", path)
	}
	seen(t, start, "1 cluster with the add-on, and every ConfigMap synced", summary("configMapsSynced", 1))
	seen(t, start, "it is available (OCM's agent looks every 30 s)", summary("available", 1))
	seen(t, start, "the same is said of the leaf hub", w.global.field(addOnSummaries, "", "helloworld", []any{map[string]any{
		"name": leafName, "stale": false, "clusters": 1, "available": 1, "configMapsSynced": 1, "conflicts": 0}}, "status", "hubs"))

	foreign := w.leaf.create(t, configMaps, "default", "hub-of-hubs-e2e", map[string]any{"data": map[string]any{"owner": "local"}})
	t.Cleanup(func() { w.leaf.discard(t, foreign) })
	start = time.Now()
	source := w.leaf.create(t, configMaps, w.cluster, "hub-of-hubs-e2e", map[string]any{"data": map[string]any{"owner": "the hub"}})
	t.Cleanup(func() { w.leaf.discard(t, source) })
	seen(t, start, "the conflict on the managed cluster is on the global hub", summary("conflicts", 1))
	start = time.Now()
	w.leaf.discard(t, foreign)
	seen(t, start, "so is its end", summary("conflicts", 0))
	seen(t, start, "and everything is synced", summary("configMapsSynced", 1))
}

// policy is a policy of the global hub and its copy on the leaf hub, whose compliance the tests say.
type policy struct {
	global, leaf *unstructured.Unstructured
	compliance   string
}

// policyTravels follows the compliance of a policy. The parts of the spec sync and of the policy framework are played.
func policyTravels(t *testing.T, w *world) {
	spec := map[string]any{"spec": map[string]any{"disabled": false, "policy-templates": []any{}}}
	w.policy = &policy{global: w.global.create(t, policies, namespace, "no-privileges", spec)}
	w.known(t, "policies", w.policy.global)
	w.policy.leaf = w.copyOnLeaf(t, w.policy.global, spec)
	for range 4 {
		w.flip(t, "it is on the global hub")
	}
}

// say has the leaf hub say something else of the policy than before.
func (w *world) say(t *testing.T) {
	t.Helper()
	if w.policy.compliance == "Compliant" {
		w.policy.compliance = "NonCompliant"
	} else {
		w.policy.compliance = "Compliant"
	}
	w.leaf.status(t, w.policy.leaf, map[string]any{"compliant": w.policy.compliance, "status": []any{map[string]any{
		"clustername": w.cluster, "clusternamespace": w.cluster, "compliant": w.policy.compliance}}})
}

// said is nil when the global hub has what the leaf hub says of the policy.
func (w *world) said(ctx context.Context) error {
	return w.global.field(policies, namespace, w.policy.global.GetName(), w.policy.compliance, "status", "compliant")(ctx)
}

// flip follows one change of the policy's compliance through both programs.
func (w *world) flip(t *testing.T, what string) {
	t.Helper()
	start := time.Now()
	w.say(t)
	seen(t, start, fmt.Sprintf("%s on the leaf hub: %s", w.policy.compliance, what), w.said)
}

// placementTravels follows what OCM's own placement controller decides on the leaf hub. On the global hub it is told to
// leave the placement alone.
func placementTravels(t *testing.T, w *world) {
	w.leaf.create(t, clusterSetBindings, namespace, "default", map[string]any{"spec": map[string]any{"clusterSet": "default"}})
	spec := map[string]any{"spec": map[string]any{"clusterSets": []any{"default"}}}
	global := newObject(placements, namespace, "everywhere", spec)
	global.SetAnnotations(map[string]string{"cluster.open-cluster-management.io/experimental-scheduling-disable": "true"})
	must(t, "create the placement", w.global.client.Create(t.Context(), global))
	w.known(t, "placements", global)
	start := time.Now()
	leaf := w.copyOnLeaf(t, global, spec)
	selected := func(want int64) func(context.Context) error {
		return w.global.field(placements, namespace, "everywhere", want, "status", "numberOfSelectedClusters")
	}
	decided := func(clusters ...string) func(context.Context) error {
		list := []any{}
		for _, cluster := range clusters {
			list = append(list, map[string]any{"clusterName": cluster, "reason": ""})
		}
		return w.global.field(placementDecisions, namespace, "everywhere-decision-1", list, "status", "decisions")
	}
	seen(t, start, "OCM selects the cluster on the leaf hub: the global hub's placement has 1", selected(1))
	seen(t, start, "and the decision", decided(w.cluster))
	seen(t, start, "which the placement owns", func(ctx context.Context) error {
		object, err := w.global.get(ctx, placementDecisions, namespace, "everywhere-decision-1")
		if owners := object.GetOwnerReferences(); err == nil && (len(owners) != 1 || owners[0].UID != global.GetUID()) {
			err = fmt.Errorf("its owners are %v", owners)
		}
		return err
	})
	w.leaf.patch(t, leaf, `{"spec":{"predicates":[{"requiredClusterSelector":{"labelSelector":{"matchLabels":{"no":"cluster"}}}}]}}`)
	start = time.Now()
	seen(t, start, "OCM no longer selects it: 0", selected(0))
	seen(t, start, "and no decision", decided())
	w.leaf.patch(t, leaf, `{"spec":{"predicates":null}}`)
	start = time.Now()
	seen(t, start, "OCM selects it again: the decision", decided(w.cluster))
	seen(t, start, "and 1", selected(1))
}

// applicationsTravel follows the kinds whose controllers are played.
func applicationsTravel(t *testing.T, w *world) {
	const name = "web"
	empty := map[string]any{"spec": map[string]any{}}
	rule := w.global.create(t, placementRules, namespace, name, empty)
	w.known(t, "placementrules", rule)
	decisions := []any{map[string]any{"clusterName": w.cluster, "clusterNamespace": w.cluster}}
	w.leaf.status(t, w.copyOnLeaf(t, rule, empty), map[string]any{"decisions": decisions})

	subscription := w.global.create(t, subscriptions, namespace, name, map[string]any{"spec": map[string]any{"channel": "ns/channel"}})
	w.known(t, "subscriptions", subscription)
	hosted := map[string]any{"labels": map[string]any{"apps.open-cluster-management.io/hosting-subscription": namespace + "." + name}}
	w.leaf.create(t, subscriptionStates, namespace, name, map[string]any{"metadata": hosted, "statuses": map[string]any{
		"subscription": map[string]any{"phase": "Deployed", "lastUpdateTime": "2026-01-01T00:00:00Z"},
		"packages":     []any{map[string]any{"name": name, "kind": "Deployment", "phase": "Deployed", "lastUpdateTime": "2026-01-01T00:00:00Z"}}}})
	w.leaf.create(t, subscriptionReports, namespace, name, map[string]any{"metadata": hosted, "reportType": "Application",
		"summary": map[string]any{"clusters": "1", "deployed": "1", "failed": "0", "inProgress": "0", "propagationFailed": "0"},
		"results": []any{map[string]any{"source": w.cluster, "result": "deployed", "timestamp": map[string]any{"seconds": int64(1), "nanos": int64(0)}}}})
	start := time.Now()
	seen(t, start, "the placement rule's decisions", w.global.field(placementRules, namespace, name, decisions, "status", "decisions"))
	seen(t, start, "the subscription's status", w.global.field(subscriptionStates, namespace, name, "Deployed", "statuses", "subscription", "phase"))
	seen(t, start, "its report", w.global.field(subscriptionReports, namespace, name, "1", "summary", "deployed"))
}
