//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The add-on can be disabled although the install namespace's quota of ConfigMaps
// is full: the hook cannot write the ConfigMap by which it stops an agent that has
// lost the hub, reports that on the hub, and goes on without it.
func uninstallWithFullQuota(t *testing.T, env *environment) {
	const name, configMaps = "e2e-full", corev1.ResourceName("count/configmaps")
	c := env.second()
	env.awaitCopying(t, c)
	must(t, "delete used certificate requests", env.deleteUsedRequests(t.Context(), c))
	env.createSourceLeft(t, c, "e2e-quota")

	present, err := c.kube.CoreV1().ConfigMaps(c.installNamespace).List(t.Context(), metav1.ListOptions{})
	must(t, "count the ConfigMaps", err)
	quotas := c.kube.CoreV1().ResourceQuotas(c.installNamespace)
	_, err = quotas.Create(t.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{configMaps: *resource.NewQuantity(int64(len(present.Items)), resource.DecimalSI)}},
	}, metav1.CreateOptions{})
	must(t, "create the quota", err)
	cleanup(t, "the quota", func(ctx context.Context) error {
		return ignoreNotFound(quotas.Delete(ctx, name, metav1.DeleteOptions{}))
	})
	eventually(t, "the quota is full", func(ctx context.Context) error {
		quota, err := quotas.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		hard, used := quota.Status.Hard[configMaps], quota.Status.Used[configMaps]
		if hard.IsZero() || hard.Cmp(used) != 0 {
			return fmt.Errorf("%s of %s used", used.String(), hard.String())
		}
		return nil
	})

	start := time.Now()
	must(t, "delete the ManagedClusterAddOn", env.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).
		Delete(t.Context(), addonName, metav1.DeleteOptions{}))
	eventually(t, "the hub says why the hook is held up", env.reports(c, metav1.ConditionFalse, "Uninstalling", "exceeded quota: "+name))
	eventually(t, "the add-on is gone", env.disabled(c))
	timings.record(c.name+": uninstall with a full quota", time.Since(start))
	must(t, "the copy is gone", c.hasNoCopy("e2e-quota")(t.Context()))
	must(t, "the lease is gone", c.hasNoLease(t.Context()))
	eventually(t, "the hook's own ConfigMap is gone", c.hasNoCopy("helloworld-agent-uninstall"))

	must(t, "delete the quota", quotas.Delete(t.Context(), name, metav1.DeleteOptions{}))
	reach(t, env.startEnabling(t, c, "after a full quota", env.enableV1beta1))
}
