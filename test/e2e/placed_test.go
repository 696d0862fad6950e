//go:build e2e && fleet

package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	placedPlacement = "helloworld-e2e-placed"
	placedNamespace = "helloworld-e2e-placed"
)

// Where a Placement's configuration names the install namespace, uninstalling
// (docs/design.md#uninstall) removes every copy and the lease from there, whichever way
// the add-on is removed: by the documented commands, because the Placement no longer
// selects the cluster, or because the ManagedCluster is deleted.
func placedNamespaceIsUninstalled(t *testing.T, env *environment) {
	for _, c := range env.clusters {
		must(t, "disable the add-on", env.disable(t.Context(), c))
		must(t, "delete used certificate requests", env.deleteUsedRequests(t.Context(), c))
	}
	config := env.createConfig(t, controllerNamespace, "e2e-placed", `{"agentInstallNamespace":"`+placedNamespace+`"}`)
	env.place(t, placedPlacement, env.clusters...)
	placed := map[*cluster]*cluster{}
	for _, c := range env.clusters {
		there := *c
		there.installNamespace = placedNamespace
		placed[c] = &there
		cleanup(t, "remove the add-on from "+c.name, func(ctx context.Context) error { return env.removePlaced(ctx, &there) })
	}
	env.installBy(t, strategyOf(placedPlacement, config.ref(), `{"type":"All"}`))
	for _, c := range placed {
		eventually(t, "mark what OCM has created for a later run", func(ctx context.Context) error {
			_, err := env.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).Patch(ctx, addonName, types.MergePatchType,
				fmt.Appendf(nil, `{"metadata":{"labels":{%q:"true"}}}`, suiteLabel), metav1.PatchOptions{})
			return err
		})
		source := env.createSource(t, c, configMap("e2e-placed", map[string]string{"a": "1"}))
		eventually(t, c.name+": the copy, where the config says", c.hasCopy(source))
	}
	for _, c := range placed {
		eventually(t, "the hub says so", env.addonCondition(c, syncedCondition))
	}

	t.Run("label_taken_off", func(t *testing.T) {
		defer env.collectOnFailure(t)
		c := placed[env.third()]
		must(t, "take the label off", env.choose(t.Context(), c, ""))
		eventually(t, "the add-on is gone", env.disabled(c))
		must(t, "nothing is left", c.nothingLeft(t.Context()))
	})
	t.Run("ManagedCluster_deleted", func(t *testing.T) {
		defer env.collectOnFailure(t)
		env.detached(t, placed[env.second()])
	})
	t.Run("documented_commands", func(t *testing.T) {
		defer env.collectOnFailure(t)
		c := placed[env.first()]
		_, err := env.hub.addon.AddonV1beta1().ClusterManagementAddOns().Patch(t.Context(), addonName, types.MergePatchType,
			[]byte(`{"spec":{"installStrategy":{"type":"Manual","placements":null}}}`), metav1.PatchOptions{})
		must(t, "install by hand again", err)
		must(t, "OCM has seen that", env.awaitStrategy(t.Context()))
		must(t, "delete the ManagedClusterAddOn", env.disable(t.Context(), c))
		must(t, "nothing is left", c.nothingLeft(t.Context()))
	})
}

// detached deletes the ManagedCluster, and lets the cluster join again.
func (e *environment) detached(t *testing.T, c *cluster) {
	t.Helper()
	managedClusters := e.hub.cluster.ClusterV1().ManagedClusters()
	cleanup(t, "let the cluster join again", func(ctx context.Context) error {
		if err := runFor(ctx, rejoinEnv, c); err != nil {
			return err
		}
		return poll(ctx, deadline, e.joined(c))
	})
	must(t, "delete the ManagedCluster", managedClusters.Delete(t.Context(), c.name, metav1.DeleteOptions{}))
	eventually(t, "the ManagedCluster is gone", func(ctx context.Context) error {
		_, err := managedClusters.Get(ctx, c.name, metav1.GetOptions{})
		return gone("ManagedCluster", err)
	})
	eventually(t, "nothing is left", c.nothingLeft)
	_, err := c.agent(t.Context())
	must(t, "the agent is gone", gone("the agent", err))
}

// nothingLeft checks that there is no copy and no lease in the install namespace.
func (c *cluster) nothingLeft(ctx context.Context) error {
	copies, err := c.kube.CoreV1().ConfigMaps(c.installNamespace).List(ctx,
		metav1.ListOptions{LabelSelector: managedByLabel + "=" + managedByValue})
	if err != nil {
		return err
	}
	var errs []error
	for i := range copies.Items {
		errs = append(errs, fmt.Errorf("%s: copy %s/%s is still there", c.name, c.installNamespace, copies.Items[i].Name))
	}
	return errors.Join(append(errs, c.hasNoLease(ctx))...)
}

// removePlaced disables the add-on, and removes what it has left in the namespace.
func (e *environment) removePlaced(ctx context.Context, c *cluster) error {
	return errors.Join(e.disable(ctx, c), e.deleteUsedRequests(ctx, c), c.deleteNamespace(ctx, placedNamespace))
}
