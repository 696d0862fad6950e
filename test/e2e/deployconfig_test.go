//go:build e2e && fleet

package e2e

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

var deploymentConfigs = schema.GroupVersionResource{
	Group: "addon.open-cluster-management.io", Version: "v1alpha1", Resource: "addondeploymentconfigs"}

// deploymentConfig is an AddOnDeploymentConfig of the suite.
type deploymentConfig struct {
	client          dynamic.ResourceInterface
	namespace, name string
}

// createConfig creates an AddOnDeploymentConfig with this spec, which is JSON.
func (e *environment) createConfig(t *testing.T, namespace, name, spec string) *deploymentConfig {
	t.Helper()
	d := &deploymentConfig{e.hub.dynamic.Resource(deploymentConfigs).Namespace(namespace), namespace, name}
	object := &unstructured.Unstructured{}
	must(t, "parse the config", object.UnmarshalJSON(fmt.Appendf(nil, `{"apiVersion":"addon.open-cluster-management.io/v1alpha1",`+
		`"kind":"AddOnDeploymentConfig","metadata":{"name":%q,"namespace":%q,"labels":{%q:"true"}},"spec":%s}`,
		name, namespace, suiteLabel, spec)))
	must(t, "remove a left-over config", ignoreNotFound(d.client.Delete(t.Context(), name, metav1.DeleteOptions{})))
	_, err := d.client.Create(t.Context(), object, metav1.CreateOptions{})
	must(t, "create the config", err)
	cleanup(t, "delete the config", func(ctx context.Context) error {
		return ignoreNotFound(d.client.Delete(ctx, name, metav1.DeleteOptions{}))
	})
	return d
}

// edit changes the spec by a JSON merge patch.
func (d *deploymentConfig) edit(t *testing.T, spec string) {
	t.Helper()
	_, err := d.client.Patch(t.Context(), d.name, types.MergePatchType, []byte(`{"spec":`+spec+`}`), metav1.PatchOptions{})
	must(t, "edit the config", err)
}

// ref is the config as ManagedClusterAddOns and ClusterManagementAddOns name it.
func (d *deploymentConfig) ref() string {
	return fmt.Sprintf(`{"group":%q,"resource":%q,"namespace":%q,"name":%q}`,
		deploymentConfigs.Group, deploymentConfigs.Resource, d.namespace, d.name)
}

// String is the config as messages name it.
func (d *deploymentConfig) String() string { return d.namespace + "/" + d.name }

// conditionOf is the add-on's condition of this type, or nil.
func (e *environment) conditionOf(ctx context.Context, c *cluster, conditionType string) (*metav1.Condition, error) {
	addOn, err := e.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).Get(ctx, addonName, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return meta.FindStatusCondition(addOn.Status.Conditions, conditionType), nil
}
