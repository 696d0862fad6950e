//go:build e2e

package lease

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
)

// onManaged is an add-on whose lease is on the managed cluster.
const onManaged = "lease-on-managed"

// startManaged enables such an add-on, and returns the scenario that sees OCM
// call it Available, by its lease alone: nothing else says that it works.
func startManaged(t *testing.T, env *environment) func(t *testing.T) {
	t.Helper()
	c := env.clusters[0]
	addons := env.addons.AddonV1alpha1().ManagedClusterAddOns(c.name)
	_, err := addons.Create(t.Context(), &addonv1alpha1.ManagedClusterAddOn{
		ObjectMeta: metav1.ObjectMeta{Name: onManaged, Namespace: c.name},
		//nolint:staticcheck // Deprecated, and what users go on writing.
		Spec: addonv1alpha1.ManagedClusterAddOnSpec{InstallNamespace: onManaged},
	}, metav1.CreateOptions{})
	must(t, "enable the add-on", err)
	cleanup(t, "disable the add-on", func(ctx context.Context) error {
		return addons.Delete(ctx, onManaged, metav1.DeleteOptions{})
	})
	eventually(t, "the example's pod is there", func(ctx context.Context) error { _, err := c.pod(ctx); return err })
	c.startPod(t, onManaged, leaseRules(onManaged), "-lease-location=managed")
	return func(t *testing.T) {
		renewals := follow(t, c.api, onManaged, onManaged)
		eventually(t, "the lease in the install namespace", func(context.Context) error {
			if renewals.last().IsZero() {
				return errNotYet
			}
			return nil
		})
		eventually(t, "Available", func(ctx context.Context) error {
			addon, err := addons.Get(ctx, onManaged, metav1.GetOptions{})
			if err != nil {
				return err
			}
			condition := meta.FindStatusCondition(addon.Status.Conditions, addonv1alpha1.ManagedClusterAddOnConditionAvailable)
			if condition == nil || condition.Status != metav1.ConditionTrue || condition.Reason != "ManagedClusterAddOnLeaseUpdated" {
				return fmt.Errorf("condition Available: %+v", condition)
			}
			return nil
		})
	}
}
