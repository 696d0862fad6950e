//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
)

// requireReady fails, and says what to do, when the environment is not what
// the scenarios need.
func (e *environment) requireReady(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	addOns := e.hub.addon.AddonV1beta1()
	if _, err := addOns.ClusterManagementAddOns().Get(ctx, addonName, metav1.GetOptions{}); err != nil {
		t.Fatalf("the hub does not offer the add-on: %v\ndeploy it first: make deploy-example KUBECONFIG=<the hub's>", err)
	}
	for _, c := range e.clusters {
		if _, err := e.hub.cluster.ClusterV1().ManagedClusters().Get(ctx, c.name, metav1.GetOptions{}); err != nil {
			t.Fatalf("%s names %s, which the hub does not know: %v", clustersEnv, c.name, err)
		}
		eventually(t, "ManagedCluster "+c.name+" joined and available", e.joined(c))
		addOn, err := addOns.ManagedClusterAddOns(c.name).Get(ctx, addonName, metav1.GetOptions{})
		if err == nil && addOn.Labels[suiteLabel] == "" {
			t.Fatalf("the add-on is enabled on %s already, by another user; the suite enables and disables it itself. "+
				"If it may go: kubectl delete managedclusteraddon -n %s %s", c.name, c.name, addonName)
		}
	}
	eventually(t, "the controller runs (deploy it: make deploy-example KUBECONFIG=<the hub's>)", func(ctx context.Context) error {
		d, err := e.hub.kube.AppsV1().Deployments(controllerNamespace).Get(ctx, controllerDeployment, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return deploymentAvailable(d)
	})
}

func (e *environment) joined(c *cluster) check {
	return func(ctx context.Context) error {
		mc, err := e.hub.cluster.ClusterV1().ManagedClusters().Get(ctx, c.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range []string{clusterv1.ManagedClusterConditionJoined, clusterv1.ManagedClusterConditionAvailable} {
			if !meta.IsStatusConditionTrue(mc.Status.Conditions, condition) {
				return fmt.Errorf("%s is not True; conditions: %s", condition, conditionLine(mc.Status.Conditions))
			}
		}
		return nil
	}
}

// removeLeftovers removes what a killed run of the suite left behind.
func (e *environment) removeLeftovers(t *testing.T) {
	t.Helper()
	ours := metav1.ListOptions{LabelSelector: suiteLabel}
	for _, c := range e.clusters {
		must(t, "remove left-over ConfigMaps on the hub",
			e.hub.kube.CoreV1().ConfigMaps(c.name).DeleteCollection(t.Context(), metav1.DeleteOptions{}, ours))
		must(t, "remove left-over ConfigMaps of "+c.name,
			c.kube.CoreV1().ConfigMaps(c.installNamespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, ours))
		_, err := e.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).Get(t.Context(), addonName, metav1.GetOptions{})
		if err == nil {
			t.Logf("%s: a killed run left the add-on enabled; disabling it", c.name)
		}
		must(t, "disable a left-over add-on", e.restore(t.Context(), c))
		must(t, "remove left-over copies of "+c.name, c.removeOrphans(t.Context()))
	}
}

// removeOrphans removes copies that outlived the agent that wrote them.
func (c *cluster) removeOrphans(ctx context.Context) error {
	return c.kube.CoreV1().ConfigMaps(c.installNamespace).DeleteCollection(ctx, metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: managedByLabel + "=" + managedByValue})
}

// deleteOwnNamespace deletes the namespace that the add-on shipped for the
// suite. The add-on itself leaves it, and rightly so.
func (c *cluster) deleteOwnNamespace(ctx context.Context) error {
	return c.deleteNamespace(ctx, ownNamespace)
}

func (c *cluster) deleteNamespace(ctx context.Context, name string) error {
	namespaces := c.kube.CoreV1().Namespaces()
	if err := namespaces.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return ignoreNotFound(err)
	}
	return poll(ctx, deadline, func(ctx context.Context) error {
		ns, err := namespaces.Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			return fmt.Errorf("namespace %s is still there: %v", name, ns.Status.Conditions)
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}
