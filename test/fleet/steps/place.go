package steps

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/helloworld-addon/sandbox/apply"
)

// placement is the name of the Placement, and of the configuration.
const placement = "fleet"

// groups is the number of the Placement's decision groups.
const groups = 3

// placed selects clusters in groups. Its arguments are further fields of the spec, and the clusters of a group. A cluster that
// is cut off stays selected.
const placed = `
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: global, namespace: open-cluster-management}
spec: {clusterSet: global}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: fleet, namespace: open-cluster-management}
spec:
  clusterSets: [global]%s
  decisionStrategy: {groupStrategy: {clustersPerDecisionGroup: %d}}
  tolerations:
  - {key: cluster.open-cluster-management.io/unreachable, operator: Exists}
  - {key: cluster.open-cluster-management.io/unavailable, operator: Exists}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnDeploymentConfig
metadata: {name: fleet, namespace: open-cluster-management}
spec: {agentInstallNamespace: open-cluster-management-agent-addon}
`

// place creates a Placement for all clusters, or for EnableOn of them, and returns its decisions.
func (f *Fleet) place(ctx context.Context) (map[string]int, error) {
	applier, err := apply.New(f.config)
	if err != nil {
		return nil, err
	}
	want, number := f.Size(), ""
	if f.EnableOn > 0 {
		want, number = f.EnableOn, fmt.Sprintf("\n  numberOfClusters: %d", f.EnableOn)
	}
	size := int(math.Ceil(float64(want) / groups))
	if err := applier.Apply(ctx, fmt.Appendf(nil, placed, number, size)); err != nil {
		return nil, fmt.Errorf("create the Placement: %w", err)
	}
	var decided map[string]int
	err = poll(ctx, f.Times.Limit, func(ctx context.Context) (err error) {
		if decided, err = f.decisions(ctx, namespace, placement); err != nil {
			return err
		}
		if n := len(decided); n < want {
			return fmt.Errorf("the Placement has decided for %d of %d clusters", n, want)
		}
		return nil
	})
	return decided, err
}

// decisions returns the group of each cluster that a Placement has selected.
func (f *Fleet) decisions(ctx context.Context, namespace, placement string) (map[string]int, error) {
	list, err := f.dynamic.Resource(decisionLists).Namespace(namespace).List(ctx, metav1.ListOptions{
		LabelSelector: "cluster.open-cluster-management.io/placement=" + placement})
	if err != nil {
		return nil, fmt.Errorf("list the Placement's decisions: %w", err)
	}
	return decisionsOf(list.Items)
}

func decisionsOf(lists []unstructured.Unstructured) (map[string]int, error) {
	decided := map[string]int{}
	for i := range lists {
		group, err := strconv.Atoi(lists[i].GetLabels()["cluster.open-cluster-management.io/decision-group-index"])
		if err != nil {
			return nil, fmt.Errorf("the group of the decisions %s: %w", lists[i].GetName(), err)
		}
		decisions, _, _ := unstructured.NestedSlice(lists[i].Object, "status", "decisions")
		for _, d := range decisions {
			if decision, ok := d.(map[string]any); ok {
				name, _ := decision["clusterName"].(string)
				decided[name] = group
			}
		}
	}
	return decided, nil
}

// The rollout strategies.
const (
	toAll   = `{"type":"All"}`
	byGroup = `{"type":"ProgressivePerGroup","progressivePerGroup":{"progressDeadline":%q,"maxFailures":0}}`
)

// enable lets OCM install the add-on on the Placement's clusters.
func (f *Fleet) enable(ctx context.Context, rollout string) error {
	config := fmt.Sprintf(`{"group":%q,"resource":%q,"namespace":%q,"name":%q}`, configs.Group, configs.Resource, namespace, placement)
	return f.setInstallStrategy(ctx, fmt.Sprintf(`{"type":"Placements","placements":[{"name":%q,"namespace":%q,"configs":[%s],"rolloutStrategy":%s}]}`,
		placement, namespace, config, rollout))
}

func (f *Fleet) setInstallStrategy(ctx context.Context, strategy string) error {
	_, err := f.dynamic.Resource(managements).Patch(ctx, addOnName, types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"installStrategy":%s}}`, strategy), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("change the install strategy: %w", err)
	}
	return nil
}

// configure replaces the configuration's settings.
func (f *Fleet) configure(ctx context.Context, settings string) error {
	_, err := f.dynamic.Resource(configs).Namespace(namespace).Patch(ctx, placement, types.MergePatchType,
		fmt.Appendf(nil, `{"spec":%s}`, settings), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("change the configuration: %w", err)
	}
	return nil
}

// progressing returns reason and message of the rollout's condition.
func (f *Fleet) progressing(ctx context.Context) (reason, message string, err error) {
	object, err := f.dynamic.Resource(managements).Get(ctx, addOnName, metav1.GetOptions{})
	if err != nil {
		return "", "", fmt.Errorf("read the rollout's progress: %w", err)
	}
	reason, message = progressOf(object)
	return reason, message, nil
}

func progressOf(management *unstructured.Unstructured) (reason, message string) {
	progressions, _, _ := unstructured.NestedSlice(management.Object, "status", "installProgressions")
	for _, p := range progressions {
		progression, ok := p.(map[string]any)
		if !ok || progression["name"] != placement {
			continue
		}
		conditions, _, _ := unstructured.NestedSlice(progression, "conditions")
		for _, c := range conditions {
			if condition, ok := c.(map[string]any); ok && condition["type"] == "Progressing" {
				reason, _ = condition["reason"].(string)
				message, _ = condition["message"].(string)
			}
		}
	}
	return reason, message
}

// timedOut reports whether a rollout's message counts clusters that are not done in time, as in
// "1/3 progressing, 1 failed 2 timeout."
func timedOut(message string) bool {
	_, rest, found := strings.Cut(message, "failed ")
	if !found {
		return false
	}
	n := 0
	_, err := fmt.Sscanf(rest, "%d timeout", &n)
	return err == nil && n > 0
}
