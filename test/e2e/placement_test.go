//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

const (
	// byLabelExample is the file that users apply.
	byLabelExample = "../../deploy/example/install-by-label.yaml"
	// byLabelKey on a ManagedCluster, with byLabelValue, installs the add-on.
	byLabelKey, byLabelValue = "helloworld", "enabled"
	// defaultNamespace is where OCM installs add-ons when nobody names a namespace.
	defaultNamespace = "open-cluster-management-agent-addon"
)

// byLabelKinds are the kinds in the example, in the order of its documents.
var byLabelKinds = map[string]schema.GroupVersionResource{
	"ManagedClusterSetBinding": {Group: "cluster.open-cluster-management.io", Version: "v1beta2", Resource: "managedclustersetbindings"},
	"Placement":                {Group: "cluster.open-cluster-management.io", Version: "v1beta1", Resource: "placements"},
	"ClusterManagementAddOn":   {Group: "addon.open-cluster-management.io", Version: "v1alpha1", Resource: "clustermanagementaddons"},
}

// With the example's Placement a label on a cluster installs the add-on, and
// taking the label off uninstalls it, copies included.
func installedByLabel(t *testing.T, env *environment) {
	bystander, c := env.first(), *env.second()
	env.awaitCopying(t, &c)
	must(t, "disable the add-on", env.disable(t.Context(), &c))
	c.installNamespace = defaultNamespace
	_, err := c.kube.CoreV1().Namespaces().Get(t.Context(), defaultNamespace, metav1.GetOptions{})
	shipsNamespace := apierrors.IsNotFound(err)
	manual, err := env.hub.dynamic.Resource(byLabelKinds["ClusterManagementAddOn"]).Get(t.Context(), addonName, metav1.GetOptions{})
	must(t, "get the ClusterManagementAddOn", err)

	cleanup(t, "back to installing by hand", func(ctx context.Context) error {
		errs := []error{env.label(ctx, c.name, false)}
		if t.Failed() {
			errs = append(errs, poll(ctx, deadline, env.disabled(&c)))
		}
		errs = append(errs, env.installManually(ctx, manual), env.label(ctx, bystander.name, false), env.deleteUsedRequests(ctx, &c))
		if shipsNamespace {
			errs = append(errs, ignoreNotFound(c.kube.CoreV1().Namespaces().Delete(ctx, defaultNamespace, metav1.DeleteOptions{})))
		}
		return errors.Join(errs...)
	})
	// With Placements OCM removes the add-on wherever they do not want it, also
	// before they have decided for the first time.
	must(t, "label the other cluster", env.label(t.Context(), bystander.name, true))
	must(t, "apply the example's Placement", env.applyByLabel(t.Context(), "ManagedClusterSetBinding", "Placement"))
	eventually(t, "it has decided", env.decidedFor(bystander.name))
	must(t, "apply the example's ClusterManagementAddOn", env.applyByLabel(t.Context(), "ClusterManagementAddOn"))
	source := env.createSource(t, &c, configMap("e2e-by-label", map[string]string{"a": "1"}))
	start := time.Now()
	must(t, "label the cluster", env.label(t.Context(), c.name, true))
	eventually(t, "a copy where OCM installs add-ons", c.hasCopy(source))
	timings.record(c.name+": label on the cluster → first copy", time.Since(start))
	eventually(t, "the agent is available", c.agentAvailable)

	must(t, "take the label off", env.label(t.Context(), c.name, false))
	eventually(t, "the add-on is gone", env.disabled(&c))
	must(t, "and the copy with it", c.hasNoCopy(source.Name)(t.Context()))
	must(t, bystander.name+" keeps its agent", bystander.agentAvailable(t.Context()))
	env.deleteSource(t, &c, source.Name)
	must(t, "install by hand again", env.installManually(t.Context(), manual))
	// Enabled again as the suite found it; nothing depends on Available any more.
	milestones := env.startEnabling(t, env.second(), "after the label", env.enableV1alpha1)
	reach(t, milestones[:len(milestones)-1])
}

func (e *environment) label(ctx context.Context, cluster string, on bool) error {
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, byLabelKey)
	if on {
		patch = fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, byLabelKey, byLabelValue)
	}
	_, err := e.hub.cluster.ClusterV1().ManagedClusters().Patch(ctx, cluster, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// byLabelObjects are the example's objects.
func byLabelObjects() ([]*unstructured.Unstructured, error) {
	raw, err := os.ReadFile(byLabelExample)
	if err != nil {
		return nil, fmt.Errorf("read the example: %w", err)
	}
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq(string(raw), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return nil, fmt.Errorf("parse the example: %w", err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// applyByLabel applies those of the example's objects that are of the kinds.
func (e *environment) applyByLabel(ctx context.Context, kinds ...string) error {
	objects, err := byLabelObjects()
	if err != nil {
		return err
	}
	for _, object := range objects {
		if !slices.Contains(kinds, object.GetKind()) {
			continue
		}
		_, err := e.hub.dynamic.Resource(byLabelKinds[object.GetKind()]).Namespace(object.GetNamespace()).
			Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: "helloworld-e2e", Force: true})
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// decidedFor checks that the example's Placement has chosen the cluster.
func (e *environment) decidedFor(cluster string) check {
	return func(ctx context.Context) error {
		decisions, err := e.hub.cluster.ClusterV1beta1().PlacementDecisions(controllerNamespace).List(ctx,
			metav1.ListOptions{LabelSelector: "cluster.open-cluster-management.io/placement=" + addonName})
		if err != nil {
			return err
		}
		for i := range decisions.Items {
			for _, decision := range decisions.Items[i].Status.Decisions {
				if decision.ClusterName == cluster {
					return nil
				}
			}
		}
		return fmt.Errorf("the Placement has not chosen %s in %d PlacementDecisions", cluster, len(decisions.Items))
	}
}

// installManually takes the example away: the ClusterManagementAddOn's strategy
// is what it was, and the other objects are deleted.
func (e *environment) installManually(ctx context.Context, before *unstructured.Unstructured) error {
	objects, err := byLabelObjects()
	if err != nil {
		return err
	}
	strategy, _, err := unstructured.NestedMap(before.Object, "spec", "installStrategy")
	if err != nil {
		return fmt.Errorf("read the strategy of before: %w", err)
	}
	if _, byPlacement := strategy["placements"]; !byPlacement {
		strategy["placements"] = nil // takes away the example's
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"installStrategy": strategy}})
	if err != nil {
		return fmt.Errorf("write the strategy of before: %w", err)
	}
	var errs []error
	for _, object := range objects {
		resource := e.hub.dynamic.Resource(byLabelKinds[object.GetKind()]).Namespace(object.GetNamespace())
		if object.GetKind() == "ClusterManagementAddOn" {
			_, err = resource.Patch(ctx, object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
			errs = append(errs, err)
			continue
		}
		errs = append(errs, ignoreNotFound(resource.Delete(ctx, object.GetName(), metav1.DeleteOptions{})))
	}
	return errors.Join(errs...)
}
