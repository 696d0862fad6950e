//go:build e2e && fleet

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// placedLabel on a ManagedCluster has the name of the suite's Placement that
	// selects the cluster.
	placedLabel     = suiteLabel + "-placed"
	placementOfDecs = "cluster.open-cluster-management.io/placement"
	groupIndexLabel = "cluster.open-cluster-management.io/decision-group-index"
)

// managementAddOns are ClusterManagementAddOns in the version that users write.
var managementAddOns = schema.GroupVersionResource{
	Group: "addon.open-cluster-management.io", Version: "v1alpha1", Resource: "clustermanagementaddons"}

// placementOf selects the clusters that are labelled with its name, in decision
// groups of one cluster.
const placementOf = `{"apiVersion":"cluster.open-cluster-management.io/v1beta1","kind":"Placement",
"metadata":{"name":%[1]q,"namespace":%[2]q,"labels":{%[3]q:"true"}},
"spec":{"clusterSets":["global"],"predicates":[{"requiredClusterSelector":{"labelSelector":{"matchLabels":{%[4]q:%[1]q}}}}],
"decisionStrategy":{"groupStrategy":{"clustersPerDecisionGroup":1}},
"tolerations":[{"key":"cluster.open-cluster-management.io/unreachable","operator":"Exists"},
{"key":"cluster.open-cluster-management.io/unavailable","operator":"Exists"}]}}`

// place creates a Placement that selects the clusters, waits until it has decided,
// and returns the clusters in the order of their decision groups.
func (e *environment) place(t *testing.T, name string, clusters ...*cluster) []*cluster {
	t.Helper()
	e.bindClusterSet(t)
	client := e.hub.dynamic.Resource(byLabelKinds["Placement"]).Namespace(controllerNamespace)
	object := &unstructured.Unstructured{}
	must(t, "parse the Placement", object.UnmarshalJSON(fmt.Appendf(nil, placementOf, name, controllerNamespace, suiteLabel, placedLabel)))
	cleanup(t, "delete the Placement", func(ctx context.Context) error {
		return ignoreNotFound(client.Delete(ctx, name, metav1.DeleteOptions{}))
	})
	_, err := client.Apply(t.Context(), name, object, metav1.ApplyOptions{FieldManager: "helloworld-e2e", Force: true})
	must(t, "apply the Placement", err)
	for _, c := range clusters {
		must(t, "label "+c.name, e.choose(t.Context(), c, name))
		cleanup(t, "take the label off "+c.name, func(ctx context.Context) error { return ignoreNotFound(e.choose(ctx, c, "")) })
	}
	var ordered []*cluster
	eventually(t, "the Placement has decided", func(ctx context.Context) error {
		ordered, err = e.groups(ctx, name, clusters)
		return err
	})
	return ordered
}

// bindClusterSet lets Placements in the controller's namespace select from all
// clusters.
func (e *environment) bindClusterSet(t *testing.T) {
	t.Helper()
	const set = "global"
	client := e.hub.dynamic.Resource(byLabelKinds["ManagedClusterSetBinding"]).Namespace(controllerNamespace)
	object := &unstructured.Unstructured{}
	must(t, "parse the binding", object.UnmarshalJSON(fmt.Appendf(nil, `{"apiVersion":"cluster.open-cluster-management.io/v1beta2",`+
		`"kind":"ManagedClusterSetBinding","metadata":{"name":%[1]q},"spec":{"clusterSet":%[1]q}}`, set)))
	switch _, err := client.Create(t.Context(), object, metav1.CreateOptions{}); {
	case apierrors.IsAlreadyExists(err):
	case err != nil:
		t.Fatalf("bind the cluster set: %v", err)
	default:
		cleanup(t, "delete the binding", func(ctx context.Context) error {
			return ignoreNotFound(client.Delete(ctx, set, metav1.DeleteOptions{}))
		})
	}
}

// choose labels the cluster for a Placement, or for none.
func (e *environment) choose(ctx context.Context, c *cluster, placement string) error {
	value := "null"
	if placement != "" {
		value = fmt.Sprintf("%q", placement)
	}
	_, err := e.hub.cluster.ClusterV1().ManagedClusters().Patch(ctx, c.name, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"labels":{%q:%s}}}`, placedLabel, value), metav1.PatchOptions{})
	return err
}

// groups are the clusters in the order of the Placement's decision groups.
func (e *environment) groups(ctx context.Context, placement string, clusters []*cluster) ([]*cluster, error) {
	decisions, err := e.hub.cluster.ClusterV1beta1().PlacementDecisions(controllerNamespace).List(ctx,
		metav1.ListOptions{LabelSelector: placementOfDecs + "=" + placement})
	if err != nil {
		return nil, err
	}
	ordered := make([]*cluster, len(clusters))
	found := 0
	for i := range decisions.Items {
		for _, decision := range decisions.Items[i].Status.Decisions {
			for _, c := range clusters {
				index := 0
				if _, err := fmt.Sscan(decisions.Items[i].Labels[groupIndexLabel], &index); err != nil || index >= len(ordered) {
					return nil, fmt.Errorf("decision group %q of %s", decisions.Items[i].Labels[groupIndexLabel], decision.ClusterName)
				}
				if c.name == decision.ClusterName {
					ordered[index] = c
					found++
				}
			}
		}
	}
	for _, c := range ordered {
		if c == nil || found != len(clusters) {
			return nil, fmt.Errorf("Placement %s has decided for %d of %d clusters", placement, found, len(clusters))
		}
	}
	return ordered, nil
}

// strategyOf is one of the Placements of the ClusterManagementAddOn, with configs
// and rollout strategy as JSON.
func strategyOf(placement, configs, rollout string) string {
	return fmt.Sprintf(`{"name":%q,"namespace":%q,"configs":[%s],"rolloutStrategy":%s}`, placement, controllerNamespace, configs, rollout)
}

// installBy gives the ClusterManagementAddOn the strategies. At the end of the
// test it restores what was there before, and waits until OCM's add-on manager has
// seen that: the Placement is deleted next.
func (e *environment) installBy(t *testing.T, strategies string) {
	t.Helper()
	client := e.hub.dynamic.Resource(managementAddOns)
	before, err := client.Get(t.Context(), addonName, metav1.GetOptions{})
	must(t, "get the ClusterManagementAddOn", err)
	strategy, _, err := unstructured.NestedMap(before.Object, "spec", "installStrategy")
	must(t, "read the install strategy", err)
	if _, ok := strategy["placements"]; !ok {
		strategy["placements"] = nil
	}
	restore, err := json.Marshal(map[string]any{"spec": map[string]any{"installStrategy": strategy}})
	must(t, "write the install strategy", err)
	cleanup(t, "restore the install strategy", func(ctx context.Context) error {
		_, err := client.Patch(ctx, addonName, types.MergePatchType, restore, metav1.PatchOptions{})
		if err != nil {
			return err
		}
		return e.awaitStrategy(ctx)
	})
	patch := `{"spec":{"installStrategy":{"type":"Placements","placements":[` + strategies + `]}}}`
	_, err = client.Patch(t.Context(), addonName, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	must(t, "set the install strategy", err)
}

// progression is the condition Progressing of the ClusterManagementAddOn for a
// Placement.
func (e *environment) progression(ctx context.Context, placement string) (*metav1.Condition, error) {
	addOn, err := e.hub.addon.AddonV1beta1().ClusterManagementAddOns().Get(ctx, addonName, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	for i := range addOn.Status.InstallProgressions {
		p := &addOn.Status.InstallProgressions[i]
		for j := range p.Conditions {
			if p.Name == placement && p.Conditions[j].Type == "Progressing" {
				return &p.Conditions[j], nil
			}
		}
	}
	return nil, errors.New("the ClusterManagementAddOn has no progression of Placement " + placement)
}
