//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
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
	// defaultNamespace is where OCM installs add-ons by default.
	defaultNamespace = "open-cluster-management-agent-addon"
)

// byLabelKinds are the kinds in the example, in the order of its documents.
var byLabelKinds = map[string]schema.GroupVersionResource{
	"ManagedClusterSetBinding": {Group: "cluster.open-cluster-management.io", Version: "v1beta2", Resource: "managedclustersetbindings"},
	"Placement":                {Group: "cluster.open-cluster-management.io", Version: "v1beta1", Resource: "placements"},
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

	cleanup(t, "back to installing by hand", func(ctx context.Context) error {
		errs := []error{env.label(ctx, c.name, false)}
		if t.Failed() {
			errs = append(errs, poll(ctx, deadline, env.disabled(&c)))
		}
		errs = append(errs, env.installManually(ctx), env.label(ctx, bystander.name, false), env.deleteUsedRequests(ctx, &c))
		if shipsNamespace {
			errs = append(errs, ignoreNotFound(c.kube.CoreV1().Namespaces().Delete(ctx, defaultNamespace, metav1.DeleteOptions{})))
		}
		return errors.Join(errs...)
	})
	// With Placements OCM removes the add-on wherever they do not want it, also
	// before they have decided for the first time.
	must(t, "label the other cluster", env.label(t.Context(), bystander.name, true))
	must(t, "apply the example's Placement", env.applyByLabel(t.Context()))
	eventually(t, "it has decided", env.decidedFor(bystander.name))
	must(t, "install by label", runCommand(t.Context(), installByLabelEnv))
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
	must(t, "install by hand again", env.installManually(t.Context()))
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

// applyByLabel applies the example's objects.
func (e *environment) applyByLabel(ctx context.Context) error {
	objects, err := byLabelObjects()
	if err != nil {
		return err
	}
	for _, object := range objects {
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

// deleteByLabel deletes the example's objects.
func (e *environment) deleteByLabel(ctx context.Context) error {
	objects, err := byLabelObjects()
	if err != nil {
		return err
	}
	var errs []error
	for _, object := range objects {
		resource := e.hub.dynamic.Resource(byLabelKinds[object.GetKind()]).Namespace(object.GetNamespace())
		errs = append(errs, ignoreNotFound(resource.Delete(ctx, object.GetName(), metav1.DeleteOptions{})))
	}
	return errors.Join(errs...)
}

// installManually ends installing by label as docs/install.md does, and deletes
// the example's objects.
func (e *environment) installManually(ctx context.Context) error {
	patch := []byte(`{"spec":{"installStrategy":{"type":"Manual","placements":null}}}`)
	if err := e.patchClusterManagementAddOn(ctx, patch); err != nil {
		return err
	}
	if err := e.awaitStrategy(ctx); err != nil {
		return err
	}
	return e.deleteByLabel(ctx)
}
