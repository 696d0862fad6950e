//go:build e2e && fleet

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	movedNamespace = "helloworld-e2e-moved"
	moveAway       = `{"agentInstallNamespace":"` + movedNamespace + `"}`
	moveBack       = `{"agentInstallNamespace":null}`
)

// An edit of a configuration does not move the install namespace while copies are
// there: they would be orphans. The add-on says which object to set back; agent and
// copies stay and go on working. It makes no difference who names the config.
func movingIsRefused(t *testing.T, env *environment) {
	c := env.second()
	t.Run("config_of_the_ManagedClusterAddOn", func(t *testing.T) {
		defer env.collectOnFailure(t)
		config := env.createConfig(t, c.name, "e2e-moving", `{}`)
		cleanup(t, "take the config away", func(ctx context.Context) error { return ignoreNotFound(env.useConfig(ctx, c, "")) })
		must(t, "name the config in the ManagedClusterAddOn", env.useConfig(t.Context(), c, config.name))
		env.staysThere(t, c, config)
	})
	t.Run("default_config", func(t *testing.T) {
		defer env.collectOnFailure(t)
		config := env.createConfig(t, controllerNamespace, "e2e-moving", `{}`)
		cleanup(t, "take the default config away", func(ctx context.Context) error { return env.useDefaultConfig(ctx, nil) })
		must(t, "make the config the default", env.useDefaultConfig(t.Context(), config))
		env.staysThere(t, c, config)
	})
}

// staysThere edits the config, which applies to the cluster, and takes that back.
func (e *environment) staysThere(t *testing.T, c *cluster, config *deploymentConfig) {
	t.Helper()
	source := e.createSource(t, c, configMap("e2e-moving", map[string]string{"a": "1"}))
	eventually(t, "the copy", c.hasCopy(source))
	eventually(t, "the config is settled", e.uses(c, config))
	before := e.agentsOf(t, []*cluster{c})
	config.edit(t, moveAway)
	cleanup(t, "remove what has moved", c.removeMoved)
	eventually(t, "the add-on says what to do", e.refuses(t, c, config.String(), "disable"))
	stays := func(ctx context.Context) error {
		if _, err := c.kube.AppsV1().Deployments(movedNamespace).Get(ctx, agentDeployment, metav1.GetOptions{}); err == nil {
			return errors.New("there is an agent in " + movedNamespace)
		}
		return errors.Join(e.undisturbedAgent(ctx, c, before), c.hasCopy(source)(ctx))
	}
	consistently(t, quiet, "agent and copies stay", stays)
	e.settle(t, c)
	config.edit(t, moveBack)
	eventually(t, "the condition heals", e.refusesNothing(c, config.String()))
	// The Deployment has another configuration's hash now, which its controller has yet to observe.
	eventually(t, "agent and copies are the ones from before", stays)
}

// refusesNothing checks that no condition of the add-on has the text, and that what
// is shipped is applied.
func (e *environment) refusesNothing(c *cluster, text string) check {
	return func(ctx context.Context) error {
		addOn, err := e.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).Get(ctx, addonName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if line := conditionLine(addOn.Status.Conditions); strings.Contains(line, text) {
			return fmt.Errorf("a condition still has %q: %s", text, line)
		}
		return e.addonCondition(c, "ManifestApplied")(ctx)
	}
}

// uses checks that OCM has settled on the config for the cluster.
func (e *environment) uses(c *cluster, config *deploymentConfig) check {
	return func(ctx context.Context) error {
		addOn, err := e.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).Get(ctx, addonName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, reference := range addOn.Status.ConfigReferences {
			if d := reference.DesiredConfig; d != nil && d.SpecHash != "" && d.Namespace+"/"+d.Name == config.String() {
				return nil
			}
		}
		return fmt.Errorf("status.configReferences does not have %s: %+v", config, addOn.Status.ConfigReferences)
	}
}

// undisturbedAgent checks that the agent is the one from before.
func (e *environment) undisturbedAgent(ctx context.Context, c *cluster, before map[string]string) error {
	now, err := c.podsAsText(ctx)
	if err != nil {
		return err
	}
	if now != before[c.name] {
		return observation{fmt.Errorf("%s: the agent's pods were %s and are %s", c.name, before[c.name], now)}
	}
	return c.agentAvailable(ctx)
}

// useDefaultConfig makes the config the default of the ClusterManagementAddOn, or
// none (nil).
func (e *environment) useDefaultConfig(ctx context.Context, config *deploymentConfig) error {
	value := "null"
	if config != nil {
		value = fmt.Sprintf(`{"namespace":%q,"name":%q}`, config.namespace, config.name)
	}
	patch := fmt.Appendf(nil, `{"spec":{"supportedConfigs":[{"group":%q,"resource":%q,"defaultConfig":%s}]}}`,
		deploymentConfigs.Group, deploymentConfigs.Resource, value)
	_, err := e.hub.dynamic.Resource(managementAddOns).
		Patch(ctx, addonName, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// removeMoved removes the copies and the namespace of an agent that has moved.
func (c *cluster) removeMoved(ctx context.Context) error {
	return ignoreNotFound(c.kube.CoreV1().Namespaces().Delete(ctx, movedNamespace, metav1.DeleteOptions{}))
}
