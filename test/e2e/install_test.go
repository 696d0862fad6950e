//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// The agent is shipped by a ManifestWork, which its owner reference on the
// managed cluster proves, and it is rolled out.
func agentArrivesByManifestWork(t *testing.T, env *environment) {
	for _, c := range env.clusters {
		eventually(t, c.name+": the work is applied and available", func(ctx context.Context) error {
			works, err := env.deployWorks(ctx, c)
			if err != nil {
				return err
			}
			if len(works) == 0 {
				return fmt.Errorf("no ManifestWork %s* in namespace %s of the hub", deployWorkPrefix, c.name)
			}
			return worksApplied(works)
		})
		eventually(t, c.name+": the agent's Deployment is available", c.agentAvailable)
		d, err := c.agent(t.Context())
		must(t, "get the agent's Deployment", err)
		if !slices.ContainsFunc(d.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "AppliedManifestWork" }) {
			t.Errorf("%s: the agent's Deployment has no AppliedManifestWork as owner: %v", c.name, d.OwnerReferences)
		}
	}
}

func worksApplied(works []workv1.ManifestWork) error {
	for _, work := range works {
		for _, condition := range []string{workv1.WorkApplied, workv1.WorkAvailable} {
			if !meta.IsStatusConditionTrue(work.Status.Conditions, condition) {
				return fmt.Errorf("ManifestWork %s: %s is not True; conditions: %s",
					work.Name, condition, conditionLine(work.Status.Conditions))
			}
		}
	}
	return nil
}

// The install namespace of the v1alpha1 spec is where everything is; a
// namespace that the add-on has to create stays with the cluster afterwards.
func installNamespaceIsHonoured(t *testing.T, env *environment) {
	for _, c := range env.clusters {
		eventually(t, c.name+": the add-on reports its namespace", func(ctx context.Context) error {
			addOn, err := env.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).Get(ctx, addonName, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if addOn.Status.Namespace != c.installNamespace {
				return fmt.Errorf("status.namespace is %q, want %q", addOn.Status.Namespace, c.installNamespace)
			}
			return nil
		})
		deployments, err := c.kube.AppsV1().Deployments(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
		must(t, "list Deployments of "+c.name, err)
		for i := range deployments.Items {
			d := &deployments.Items[i]
			if d.Name == agentDeployment && d.Namespace != c.installNamespace {
				t.Errorf("%s: there is an agent in namespace %s, wanted it in %s only", c.name, d.Namespace, c.installNamespace)
			}
		}
	}

	works, err := env.deployWorks(t.Context(), env.first())
	must(t, "list works", err)
	for i := range works {
		for _, m := range works[i].Spec.Workload.Manifests {
			if strings.Contains(string(m.Raw), `"kind":"Namespace"`) {
				t.Errorf("a Namespace is shipped to %s, whose install namespace was there before", env.first().name)
			}
		}
	}
}

// The agent renews a lease that always has a renewTime, and Open Cluster Management
// derives from it that the add-on is available (docs/design.md#lease).
func availableByLease(t *testing.T, env *environment) {
	for _, c := range env.clusters {
		eventually(t, c.name+": Available", env.addonCondition(c, addonv1beta1.ManagedClusterAddOnConditionAvailable))
		leases := c.kube.CoordinationV1().Leases(c.installNamespace)
		lease, err := leases.Get(t.Context(), agentLease, metav1.GetOptions{})
		must(t, "get the lease", err)
		if lease.Spec.RenewTime == nil {
			t.Fatalf("%s: the lease has no renewTime", c.name)
		}
		if age := time.Since(lease.Spec.RenewTime.Time); age > 2*time.Minute {
			t.Errorf("%s: the lease was renewed %s ago", c.name, age)
		}

		must(t, "delete the lease", leases.Delete(t.Context(), agentLease, metav1.DeleteOptions{}))
		eventually(t, c.name+": a deleted lease is renewed", func(ctx context.Context) error {
			lease, err := leases.Get(ctx, agentLease, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if lease.Spec.RenewTime == nil {
				return fmt.Errorf("the lease has no renewTime: %+v", lease.Spec)
			}
			return nil
		})
		eventually(t, c.name+": Available", env.addonCondition(c, addonv1beta1.ManagedClusterAddOnConditionAvailable))
	}
}
