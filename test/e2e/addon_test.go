//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/yaml"
)

// enableAsUsersDo is what a user types: the v1alpha1 API, whose
// installNamespace has to go on being honoured.
const enableAsUsersDo = `
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ManagedClusterAddOn
metadata: {name: helloworld, namespace: %s}
spec: {installNamespace: %s}
`

// enableV1alpha1 enables the add-on on the cluster as users do.
func (e *environment) enableV1alpha1(ctx context.Context, c *cluster) error {
	addOn := &unstructured.Unstructured{}
	manifest := fmt.Sprintf(enableAsUsersDo, c.name, c.installNamespace)
	if err := yaml.Unmarshal([]byte(manifest), &addOn.Object); err != nil {
		return fmt.Errorf("parse manifest: %w", err)
	}
	addOn.SetLabels(map[string]string{suiteLabel: "true"})
	_, err := e.hub.dynamic.Resource(addonV1alpha1).Namespace(c.name).Create(ctx, addOn, metav1.CreateOptions{})
	return err
}

// enableV1beta1 enables the add-on by the current API, which has the install
// namespace in an annotation.
func (e *environment) enableV1beta1(ctx context.Context, c *cluster) error {
	_, err := e.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).Create(ctx, &addonv1beta1.ManagedClusterAddOn{
		ObjectMeta: metav1.ObjectMeta{
			Name:        addonName,
			Namespace:   c.name,
			Labels:      map[string]string{suiteLabel: "true"},
			Annotations: map[string]string{installNamespaceAnnotation: c.installNamespace},
		},
	}, metav1.CreateOptions{})
	return err
}

// startEnabling runs enable and returns what that has to bring about, first of
// all the copy of a ConfigMap that was on the hub before.
func (e *environment) startEnabling(t *testing.T, c *cluster, label string, enable func(context.Context, *cluster) error) []milestone {
	t.Helper()
	source := e.createSource(t, c, configMap(firstConfigMap, map[string]string{"before": "enabling"}))
	start := time.Now()
	must(t, "create the ManagedClusterAddOn", enable(t.Context(), c))
	prefix := fmt.Sprintf("%s %s: ManagedClusterAddOn → ", label, c.name)
	return []milestone{
		{prefix + "agent's Deployment", start, func(ctx context.Context) error {
			_, err := c.agent(ctx)
			return err
		}},
		{prefix + "hub kubeconfig secret", start, c.secretIssued},
		{prefix + "first copy", start, c.hasCopy(source)},
		{prefix + "agent's Deployment available", start, c.agentAvailable},
		{prefix + "condition Available", start, e.addonCondition(c, addonv1beta1.ManagedClusterAddOnConditionAvailable)},
	}
}

// disable deletes the ManagedClusterAddOn and waits until it is gone, which
// includes that its works are gone and the agent with them.
func (e *environment) disable(ctx context.Context, c *cluster) error {
	err := e.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).Delete(ctx, addonName, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the ManagedClusterAddOn: %w", err)
	}
	return poll(ctx, deadline, e.disabled(c))
}

// disabled checks that nothing of the add-on is left: on the hub the
// ManagedClusterAddOn and its works, on the managed cluster the agent, its
// permissions and its hub credentials.
func (e *environment) disabled(c *cluster) check {
	return func(ctx context.Context) error {
		_, err := e.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).Get(ctx, addonName, metav1.GetOptions{})
		if err := gone("ManagedClusterAddOn", err); err != nil {
			return err
		}
		works, err := e.deployWorks(ctx, c)
		if err != nil {
			return err
		}
		if len(works) > 0 {
			return fmt.Errorf("ManifestWork %s is still there", works[0].Name)
		}
		return c.agentGone(ctx)
	}
}

// gone is nil for a "not found", and otherwise says what is there.
func gone(what string, err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", what, err)
	default:
		return fmt.Errorf("%s is still there", what)
	}
}

// deployWorks are the ManifestWorks that carry the agent to the cluster.
func (e *environment) deployWorks(ctx context.Context, c *cluster) ([]workv1.ManifestWork, error) {
	list, err := e.hub.work.WorkV1().ManifestWorks(c.name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var works []workv1.ManifestWork
	for _, work := range list.Items {
		if strings.HasPrefix(work.Name, deployWorkPrefix) {
			works = append(works, work)
		}
	}
	return works, nil
}

// addonCondition checks that the add-on has the condition with status True.
func (e *environment) addonCondition(c *cluster, conditionType string) check {
	return func(ctx context.Context) error {
		addOn, err := e.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).Get(ctx, addonName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(addOn.Status.Conditions, conditionType) {
			return observation{fmt.Errorf("condition %s is not True; conditions: %s", conditionType, conditionLine(addOn.Status.Conditions))}
		}
		return nil
	}
}

func conditionLine(conditions []metav1.Condition) string {
	var parts []string
	for _, c := range conditions {
		parts = append(parts, fmt.Sprintf("%s=%s/%s (%s)", c.Type, c.Status, c.Reason, c.Message))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
