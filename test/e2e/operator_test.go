//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
)

// Shell commands that deploy the add-on again, and that run
// deploy/install-by-label: which kubectl and image depends on what the hub is.
const (
	redeployEnv       = "REDEPLOY"
	installByLabelEnv = "INSTALL_BY_LABEL"
)

// configuredByOperator is what a hub's operator may put into the
// ClusterManagementAddOn: a default configuration and, for the clusters that a
// Placement selects, a rollout strategy.
const configuredByOperator = `{"spec":{
  "supportedConfigs":[{"group":"addon.open-cluster-management.io","resource":"addondeploymentconfigs",
    "defaultConfig":{"namespace":"open-cluster-management","name":"e2e-upgrade"}}],
  "installStrategy":{"type":"Placements","placements":[{"name":"helloworld","namespace":"open-cluster-management",
    "rolloutStrategy":{"type":"Progressive","progressive":{"maxConcurrency":1}}}]}}}`

// An upgrade by deploy/apply changes nothing that an operator configured in the
// ClusterManagementAddOn, so that no agent loses its configuration and no add-on
// is enabled anew.
func upgradeKeepsConfiguration(t *testing.T, env *environment) {
	env.selectAll(t)
	config := &addonv1alpha1.AddOnDeploymentConfig{
		ObjectMeta: metav1.ObjectMeta{Name: "e2e-upgrade", Namespace: controllerNamespace, Labels: map[string]string{suiteLabel: "true"}},
		Spec:       addonv1alpha1.AddOnDeploymentConfigSpec{CustomizedVariables: []addonv1alpha1.CustomizedVariable{{Name: "LogVerbosity", Value: "2"}}},
	}
	configs := env.hub.addon.AddonV1alpha1().AddOnDeploymentConfigs(controllerNamespace)
	_, err := configs.Create(t.Context(), config, metav1.CreateOptions{})
	must(t, "create the AddOnDeploymentConfig", err)
	cleanup(t, "delete the AddOnDeploymentConfig", func(ctx context.Context) error {
		return ignoreNotFound(configs.Delete(ctx, config.Name, metav1.DeleteOptions{}))
	})
	env.restoreClusterManagementAddOn(t)
	before := env.addOnUIDs(t)
	must(t, "configure the ClusterManagementAddOn", env.patchClusterManagementAddOn(t.Context(), []byte(configuredByOperator)))
	eventually(t, "every add-on has the default configuration", env.eachReferences(config.Name))
	configured := env.clusterManagementAddOnMeaning(t)

	must(t, "deploy the add-on again", runCommand(t.Context(), redeployEnv))
	if diff := cmp.Diff(configured, env.clusterManagementAddOnMeaning(t)); diff != "" {
		t.Errorf("the upgrade changed the ClusterManagementAddOn's spec (-before +after):\n%s", diff)
	}
	consistently(t, quiet, "the add-ons' configuration", env.eachReferences(config.Name))
	if diff := cmp.Diff(before, env.addOnUIDs(t)); diff != "" {
		t.Errorf("the upgrade enabled add-ons anew (-UIDs before +after):\n%s", diff)
	}
}

// deploy/install-by-label refuses to switch a fleet in use over while a cluster
// that has the add-on is not selected, and names the cluster. Once all are
// selected it switches, and every add-on stays as it is.
func installByLabelRefuses(t *testing.T, env *environment) {
	before, spec := env.addOnUIDs(t), env.clusterManagementAddOnMeaning(t)
	must(t, "label one cluster", env.label(t.Context(), env.first().name, true))
	cleanup(t, "take the labels off", func(ctx context.Context) error {
		return errors.Join(env.label(ctx, env.first().name, false), env.label(ctx, env.second().name, false))
	})
	must(t, "apply the example's Placement", env.applyByLabel(t.Context()))
	cleanup(t, "delete the example's Placement", env.deleteByLabel)
	env.restoreClusterManagementAddOn(t)
	eventually(t, "it has decided", env.decidedFor(env.first().name))

	err := runCommand(t.Context(), installByLabelEnv)
	if err == nil || !strings.Contains(err.Error(), env.second().name+", with its copies in the namespace "+env.second().installNamespace) ||
		strings.Contains(err.Error(), env.first().name+", with") {
		t.Errorf("want a refusal that names %s alone, got: %v", env.second().name, err)
	}
	if diff := cmp.Diff(spec, env.clusterManagementAddOnMeaning(t)); diff != "" {
		t.Errorf("the refusal changed the ClusterManagementAddOn (-before +after):\n%s", diff)
	}

	must(t, "label the other cluster", env.label(t.Context(), env.second().name, true))
	eventually(t, "it has decided", env.decidedFor(env.second().name))
	must(t, "install by label", runCommand(t.Context(), installByLabelEnv))
	must(t, "install by label once more", runCommand(t.Context(), installByLabelEnv))
	consistently(t, quiet, "the add-ons", func(context.Context) error {
		if diff := cmp.Diff(before, env.addOnUIDs(t)); diff != "" {
			return fmt.Errorf("an add-on was enabled anew or removed (-UIDs before +after):\n%s", diff)
		}
		return nil
	})
}

// clusterManagementAddOns is a client of them by v1alpha1, the version that OCM stores.
func (e *environment) clusterManagementAddOns() dynamic.ResourceInterface {
	return e.hub.dynamic.Resource(addonV1alpha1.GroupVersion().WithResource("clustermanagementaddons"))
}

// selectAll lets the example's Placement select every cluster.
func (e *environment) selectAll(t *testing.T) {
	t.Helper()
	cleanup(t, "delete the example's Placement", e.deleteByLabel)
	for _, c := range e.clusters {
		must(t, "label "+c.name, e.label(t.Context(), c.name, true))
		cleanup(t, "take the label off "+c.name, func(ctx context.Context) error { return e.label(ctx, c.name, false) })
	}
	must(t, "apply the example's Placement", e.applyByLabel(t.Context()))
	for _, c := range e.clusters {
		eventually(t, "the Placement selects "+c.name, e.decidedFor(c.name))
	}
}

// restoreClusterManagementAddOn registers that the ClusterManagementAddOn's spec
// becomes what it is now, and that OCM's add-on manager has seen that.
func (e *environment) restoreClusterManagementAddOn(t *testing.T) {
	t.Helper()
	patch, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec", "value": e.clusterManagementAddOnSpec(t)}})
	must(t, "write the spec of before", err)
	cleanup(t, "restore the ClusterManagementAddOn", func(ctx context.Context) error {
		_, err := e.clusterManagementAddOns().Patch(ctx, addonName, types.JSONPatchType, patch, metav1.PatchOptions{})
		if err != nil {
			return err
		}
		return e.awaitStrategy(ctx)
	})
}

// awaitStrategy waits until OCM's add-on manager goes by the strategy that the
// ClusterManagementAddOn has now. It removes status.installProgressions when it
// has seen that the type is Manual, and a Placement that is deleted earlier
// uninstalls the add-on.
func (e *environment) awaitStrategy(ctx context.Context) error {
	return poll(ctx, deadline, func(ctx context.Context) error {
		addOn, err := e.hub.addon.AddonV1beta1().ClusterManagementAddOns().Get(ctx, addonName, metav1.GetOptions{})
		if err == nil && len(addOn.Status.InstallProgressions) > 0 && addOn.Spec.InstallStrategy.Type != "Placements" {
			err = fmt.Errorf("status.installProgressions is still there: %+v", addOn.Status.InstallProgressions)
		}
		return err
	})
}

func (e *environment) patchClusterManagementAddOn(ctx context.Context, patch []byte) error {
	_, err := e.clusterManagementAddOns().Patch(ctx, addonName, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// clusterManagementAddOnMeaning is what the spec means: OCM's conversion webhook
// writes the same in other words, for example 0s for 0, whenever a controller
// writes the status by v1beta1.
func (e *environment) clusterManagementAddOnMeaning(t *testing.T) any {
	t.Helper()
	addOn, err := e.hub.addon.AddonV1alpha1().ClusterManagementAddOns().Get(t.Context(), addonName, metav1.GetOptions{})
	must(t, "get the ClusterManagementAddOn", err)
	return addOn.Spec
}

func (e *environment) clusterManagementAddOnSpec(t *testing.T) any {
	t.Helper()
	object, err := e.clusterManagementAddOns().Get(t.Context(), addonName, metav1.GetOptions{})
	must(t, "get the ClusterManagementAddOn", err)
	spec, _, err := unstructured.NestedFieldCopy(object.Object, "spec")
	must(t, "read its spec", err)
	return spec
}

func (e *environment) addOnUIDs(t *testing.T) map[string]types.UID {
	t.Helper()
	uids := map[string]types.UID{}
	for _, c := range e.clusters {
		addOn, err := e.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).Get(t.Context(), addonName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		must(t, "get the ManagedClusterAddOn of "+c.name, err)
		if addOn.DeletionTimestamp == nil {
			uids[c.name] = addOn.UID
		}
	}
	return uids
}

// eachReferences checks that OCM applies the AddOnDeploymentConfig to every add-on.
func (e *environment) eachReferences(name string) check {
	return func(ctx context.Context) error {
		for _, c := range e.clusters {
			addOn, err := e.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).Get(ctx, addonName, metav1.GetOptions{})
			if err != nil {
				return err
			}
			references := addOn.Status.ConfigReferences
			if len(references) != 1 || references[0].DesiredConfig == nil || references[0].DesiredConfig.Name != name {
				return fmt.Errorf("%s: status.configReferences is %+v", c.name, references)
			}
		}
		return nil
	}
}

// runCommand runs the shell command in the environment variable, with arguments.
func runCommand(ctx context.Context, variable string, arguments ...string) error {
	command := os.Getenv(variable)
	if command == "" {
		return fmt.Errorf("%s: not set; give it a command, see test/e2e/on-sandbox", variable)
	}
	command = strings.Join(append([]string{command}, arguments...), " ")
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	if output, err := exec.CommandContext(ctx, "sh", "-c", command).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, output)
	}
	return nil
}
