//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Deleting the ManagedClusterAddOn removes the copies, exactly them. The agent,
// which still runs, does not put them back; a copy with a finalizer keeps the
// add-on there, and the hub's condition names the copy and the finalizer.
func uninstallRemovesCopies(t *testing.T, env *environment) {
	const finalizer = "example.com/e2e-hold"
	c := env.second()
	env.awaitCopying(t, c)
	foreign := c.createForeign(t, configMap("e2e-uninstall-foreign", map[string]string{"owner": "another team"}))
	// It looks like a copy, and is another cluster's.
	lookalike := configMap("e2e-uninstall-other", nil)
	lookalike.Labels[managedByLabel] = managedByValue
	lookalike.Annotations = map[string]string{"helloworld.open-cluster-management.io/source": "elsewhere/e2e-uninstall-other"}
	lookalike = c.createForeign(t, lookalike)
	env.createSourceLeft(t, c, "e2e-uninstall-free")
	env.createSourceLeft(t, c, "e2e-uninstall-held")
	_, err := update(t.Context(), c.apiServer, c.installNamespace, "e2e-uninstall-held", func(cm *corev1.ConfigMap) {
		cm.Finalizers = []string{finalizer}
	})
	must(t, "hold a copy", err)
	cleanup(t, "release the copy", func(ctx context.Context) error { return c.release(ctx, "e2e-uninstall-held") })

	start := time.Now()
	must(t, "delete the ManagedClusterAddOn", env.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).
		Delete(t.Context(), addonName, metav1.DeleteOptions{}))
	eventually(t, "what is free goes", c.hasNoCopy("e2e-uninstall-free"))
	eventually(t, "the hub says what is left and why", env.reports(c, metav1.ConditionFalse, "Uninstalling",
		"1 of 2 left: e2e-uninstall-held (held by finalizers "+finalizer+")"))
	// The agent is there, and has something new to copy.
	env.createSourceLeft(t, c, "e2e-uninstall-late")
	consistently(t, quiet, "nothing is copied any more", func(ctx context.Context) error {
		if err := c.hasNoCopy("e2e-uninstall-late")(ctx); err != nil {
			return err
		}
		if err := c.hasNoCopy("e2e-uninstall-free")(ctx); err != nil {
			return err
		}
		_, err := env.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).Get(ctx, addonName, metav1.GetOptions{})
		return err
	})

	must(t, "release the copy", c.release(t.Context(), "e2e-uninstall-held"))
	eventually(t, "the add-on is gone", env.disabled(c))
	timings.record(c.name+": uninstall with a copy held for a while", time.Since(start))
	must(t, "the held copy is gone", c.hasNoCopy("e2e-uninstall-held")(t.Context()))
	must(t, "a foreign ConfigMap stays", c.untouched(foreign)(t.Context()))
	must(t, "another cluster's copy stays", c.untouched(lookalike)(t.Context()))
	eventually(t, "the hook's own ConfigMap is gone", c.hasNoCopy("helloworld-agent-uninstall"))
	must(t, "the lease is gone", c.hasNoLease(t.Context()))

	reach(t, env.startEnabling(t, c, "after uninstalling", env.enableV1beta1))
}

// The copies go also when no agent is there to be told.
func uninstallWithoutAgent(t *testing.T, env *environment) {
	c := env.second()
	env.awaitCopying(t, c)
	env.createSourceLeft(t, c, "e2e-uninstall-alone")
	must(t, "delete used certificate requests", env.deleteUsedRequests(t.Context(), c))
	_, err := c.kube.AppsV1().Deployments(c.installNamespace).Patch(t.Context(), agentDeployment,
		types.MergePatchType, []byte(`{"spec":{"replicas":0}}`), metav1.PatchOptions{})
	must(t, "stop the agent", err)
	eventually(t, "no agent is there", func(ctx context.Context) error {
		pods, err := c.agentPods(ctx)
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("pod %s is still there", pods[0].Name)
		}
		return err
	})
	start := time.Now()
	must(t, "disable the add-on", env.disable(t.Context(), c))
	timings.record(c.name+": uninstall without an agent", time.Since(start))
	must(t, "the copy is gone", c.hasNoCopy("e2e-uninstall-alone")(t.Context()))
	must(t, "the lease is gone", c.hasNoLease(t.Context()))
	reach(t, env.startEnabling(t, c, "after uninstalling alone", env.enableV1alpha1))
}

// hasNoLease: one that stayed would make the add-on look available when it is
// enabled again, before its agent runs.
func (c *cluster) hasNoLease(ctx context.Context) error {
	_, err := c.kube.CoordinationV1().Leases(c.installNamespace).Get(ctx, agentLease, metav1.GetOptions{})
	if err == nil {
		return fmt.Errorf("lease %s/%s is still there", c.installNamespace, agentLease)
	}
	return ignoreNotFound(err)
}

// awaitCopying waits until the agent copies, and removes the ConfigMap of the
// first enabling, so that no copy is there but the scenario's.
func (e *environment) awaitCopying(t *testing.T, c *cluster) {
	t.Helper()
	eventually(t, c.name+": the agent is available", c.agentAvailable)
	must(t, "delete "+firstConfigMap, ignoreNotFound(
		e.hub.kube.CoreV1().ConfigMaps(c.name).Delete(t.Context(), firstConfigMap, metav1.DeleteOptions{})))
	eventually(t, "its copy gone", c.hasNoCopy(firstConfigMap))
	e.settle(t, c)
}

// createSourceLeft creates a source and waits for its copy, if the add-on is
// enabled. Its copy is not waited for at the end.
func (e *environment) createSourceLeft(t *testing.T, c *cluster, name string) {
	t.Helper()
	sources := e.hub.kube.CoreV1().ConfigMaps(c.name)
	source, err := sources.Create(t.Context(), configMap(name, map[string]string{"a": "1"}), metav1.CreateOptions{})
	must(t, "create ConfigMap on the hub", err)
	cleanup(t, "ConfigMap "+name, func(ctx context.Context) error {
		return ignoreNotFound(sources.Delete(ctx, name, metav1.DeleteOptions{}))
	})
	addOn, err := e.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).Get(t.Context(), addonName, metav1.GetOptions{})
	must(t, "get the ManagedClusterAddOn", err)
	if addOn.DeletionTimestamp == nil {
		eventually(t, "the copy", c.hasCopy(source))
	}
}

// release takes the finalizers off an object in the install namespace.
func (c *cluster) release(ctx context.Context, name string) error {
	_, err := c.kube.CoreV1().ConfigMaps(c.installNamespace).Patch(ctx, name,
		types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	return ignoreNotFound(err)
}
