//go:build e2e && fleet

package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
)

const (
	clusterLease = "managed-cluster-lease"
	// expired is longer than the grace periods of both leases, which are five times
	// a minute. The scenario writes it into the leases, instead of waiting.
	expired = 10 * time.Minute
	silent  = "AgentSilent"
)

// An add-on whose agent does not run is not available (docs/design.md#lease); on a lost
// cluster its availability is unknown. Both recover. The last report of a silent agent
// on its ConfigMaps becomes unknown as well.
func deadAgentAndLostCluster(t *testing.T, env *environment) {
	c := env.second()
	eventually(t, "all is well before", env.healthy(c))

	start := time.Now()
	scale := func(ctx context.Context, replicas int) error {
		_, err := c.kube.AppsV1().Deployments(c.installNamespace).Patch(ctx, agentDeployment,
			types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas), metav1.PatchOptions{})
		return err
	}
	cleanup(t, "let the agent live", func(ctx context.Context) error { return ignoreNotFound(scale(ctx, 1)) })
	eventually(t, "the agent is dead, and the hub says so", func(ctx context.Context) error {
		// Again and again, for the work agent starts the agent when it looks.
		if err := errors.Join(scale(ctx, 0), expire(ctx, c.apiServer, c.installNamespace, agentLease)); err != nil {
			return err
		}
		return env.silent(ctx, c, metav1.ConditionFalse)
	})
	timings.record(c.name+": agent's lease expired → not Available", time.Since(start))
	start = time.Now()
	must(t, "let the agent live", scale(t.Context(), 1))
	eventually(t, "the agent lives, and the hub says so", env.healthy(c))
	timings.record(c.name+": agent started → Available", time.Since(start))

	cleanup(t, "mend the cluster", func(ctx context.Context) error { return runFor(ctx, mendEnv, c) })
	must(t, "cut the cluster off", runFor(t.Context(), cutEnv, c))
	start = time.Now()
	eventually(t, "the cluster is lost, and the hub says so", func(ctx context.Context) error {
		if err := expire(ctx, env.hub.apiServer, c.name, clusterLease); err != nil {
			return err
		}
		return env.silent(ctx, c, metav1.ConditionUnknown)
	})
	timings.record(c.name+": cluster's lease expired → Available unknown", time.Since(start))
	must(t, "mend the cluster", runFor(t.Context(), mendEnv, c))
	start = time.Now()
	eventually(t, "the cluster is back, and the hub says so", env.healthy(c))
	timings.record(c.name+": cluster back → Available", time.Since(start))
	env.settle(t, c)
}

// healthy checks that the add-on is available and its ConfigMaps are synced.
func (e *environment) healthy(c *cluster) check {
	return func(ctx context.Context) error {
		return errors.Join(e.addonCondition(c, addonv1beta1.ManagedClusterAddOnConditionAvailable)(ctx), e.addonCondition(c, syncedCondition)(ctx))
	}
}

// silent checks that Available has the status, and that ConfigMapsSynced is unknown.
func (e *environment) silent(ctx context.Context, c *cluster, available metav1.ConditionStatus) error {
	found, err := e.conditionOf(ctx, c, addonv1beta1.ManagedClusterAddOnConditionAvailable)
	if err != nil {
		return err
	}
	if found == nil || found.Status != available {
		return fmt.Errorf("want Available=%s: %+v", available, found)
	}
	return e.reports(c, metav1.ConditionUnknown, silent, "")(ctx)
}

// expire makes the lease one that was renewed long ago, unless it is that.
func expire(ctx context.Context, api apiServer, namespace, name string) error {
	leases := api.kube.CoordinationV1().Leases(namespace)
	lease, err := leases.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if renewed := lease.Spec.RenewTime; renewed != nil && time.Since(renewed.Time) > expired/2 {
		return nil
	}
	lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(-expired)}
	if _, err = leases.Update(ctx, lease, metav1.UpdateOptions{}); apierrors.IsConflict(err) {
		return fmt.Errorf("it has just been renewed: %w", err)
	}
	return err
}
