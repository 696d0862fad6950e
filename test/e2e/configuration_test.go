//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// overrides is what a platform team sets for the agents of some clusters. The
// proxy does not exist, and the hub is reached without it.
const overrides = `
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnDeploymentConfig
metadata: {name: e2e-overrides, namespace: %s, labels: {helloworld.open-cluster-management.io/e2e: "true"}}
spec:
  agentInstallNamespace: %s
  registries: [{source: quay.io/open-cluster-management, mirror: registry.example.com/mirror}]
  nodePlacement:
    tolerations: [{key: example.com/infra, operator: Exists}]
  proxyConfig: {httpsProxy: "http://proxy.example.com:3128", noProxy: "*"}
  resourceRequirements:
  - containerID: "*:*:helloworld-agent"
    resources: {requests: {cpu: 11m, memory: 50Mi}}
`

// shipped is what of the agent's Deployment an AddOnDeploymentConfig can set.
type shipped struct {
	Image       string
	Proxy       string
	Tolerations []corev1.Toleration
	CPU         string
}

func shippedBy(d *appsv1.Deployment) shipped {
	container := d.Spec.Template.Spec.Containers[0]
	s := shipped{Image: container.Image, Tolerations: d.Spec.Template.Spec.Tolerations,
		CPU: container.Resources.Requests.Cpu().String()}
	for _, env := range container.Env {
		if env.Name == "HTTPS_PROXY" {
			s.Proxy = env.Value
		}
	}
	return s
}

// isShipped checks that the agent's Deployment is as wanted.
func (c *cluster) isShipped(want shipped) check {
	return func(ctx context.Context) error {
		d, err := c.agent(ctx)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want, shippedBy(d)); diff != "" {
			return fmt.Errorf("the agent's Deployment (-want +got):\n%s", diff)
		}
		return nil
	}
}

// An AddOnDeploymentConfig that the ManagedClusterAddOn names decides on the
// image's registry, the proxy, the placement and the resources; its change
// arrives, and when it is taken away all is as before.
func configOverrides(t *testing.T, env *environment) {
	c := env.first()
	d, err := c.agent(t.Context())
	must(t, "get the agent's Deployment", err)
	before := shippedBy(d)
	configs := env.hub.dynamic.Resource(schema.GroupVersionResource{
		Group: "addon.open-cluster-management.io", Version: "v1alpha1", Resource: "addondeploymentconfigs"}).Namespace(c.name)
	config := &unstructured.Unstructured{}
	must(t, "parse the config", yaml.Unmarshal(fmt.Appendf(nil, overrides, c.name, c.installNamespace), &config.Object))
	cleanup(t, "delete the config", func(ctx context.Context) error {
		return errors.Join(ignoreNotFound(env.useConfig(ctx, c, "")),
			ignoreNotFound(configs.Delete(ctx, config.GetName(), metav1.DeleteOptions{})))
	})
	_, err = configs.Create(t.Context(), config, metav1.CreateOptions{})
	must(t, "create the config", err)
	must(t, "name it in the ManagedClusterAddOn", env.useConfig(t.Context(), c, config.GetName()))

	_, name, _ := strings.Cut(before.Image, "quay.io/open-cluster-management/")
	want := shipped{Image: before.Image, Proxy: "http://proxy.example.com:3128", CPU: "11m",
		Tolerations: []corev1.Toleration{{Key: "example.com/infra", Operator: corev1.TolerationOpExists}}}
	if name != "" {
		want.Image = "registry.example.com/mirror/" + name
	}
	eventually(t, "the agent is shipped as the config says", c.isShipped(want))

	// There is no such registry: the agent runs with the rest of the config.
	_, err = configs.Patch(t.Context(), config.GetName(), types.MergePatchType, []byte(`{"spec":{"registries":null}}`), metav1.PatchOptions{})
	must(t, "change the config", err)
	want.Image = before.Image
	eventually(t, "the change arrives", c.isShipped(want))
	eventually(t, "the agent is available", c.agentAvailable)
	env.settle(t, c)

	must(t, "take the config away", env.useConfig(t.Context(), c, ""))
	eventually(t, "the agent is as before", c.isShipped(before))
	eventually(t, "the agent is available", c.agentAvailable)
	env.settle(t, c)
}

// useConfig names an AddOnDeploymentConfig of the cluster's namespace in the
// ManagedClusterAddOn, or none.
func (e *environment) useConfig(ctx context.Context, c *cluster, name string) error {
	patch := `{"spec":{"configs":null}}`
	if name != "" {
		patch = fmt.Sprintf(`{"spec":{"configs":[{"group":"addon.open-cluster-management.io","resource":"addondeploymentconfigs",`+
			`"namespace":%q,"name":%q}]}}`, c.name, name)
	}
	_, err := e.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).
		Patch(ctx, addonName, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}
