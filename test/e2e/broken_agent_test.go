//go:build e2e && fleet

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	degradedCondition = "Degraded"
	agentNotCreated   = "AgentNotCreated"
	agentNotAvailable = "AgentNotAvailable"
	agentIsAvailable  = "AgentAvailable"
	// atOnce is how soon the hub has to show that an agent cannot start. An agent
	// whose pod is there is given 30 s to become ready.
	atOnce = time.Minute
)

// An agent that cannot start is seen on the hub at once. Where its pod cannot be
// created, the hub has the cause: a PriorityClass that does not exist, or a quota.
// Where its image cannot be pulled, the hub knows only that no pod is available,
// because the Deployment's status does not have the cause.
func brokenAgentIsSeen(t *testing.T, env *environment) {
	c := env.third()
	const noPriority, noImage = `{"customizedVariables":[{"name":"PriorityClassName","value":"e2e-none"}]}`, brokenConfig
	for _, cause := range []struct {
		name, reason, message string
		breakIt               func(t *testing.T) (mend func(t *testing.T))
	}{
		{"PriorityClass", agentNotCreated, "no PriorityClass with name e2e-none was found", func(t *testing.T) func(t *testing.T) { return env.breakByConfig(t, c, noPriority) }},
		{"image", agentNotAvailable, "has no available pod", func(t *testing.T) func(t *testing.T) { return env.breakByConfig(t, c, noImage) }},
		{"quota", agentNotCreated, "exceeded quota: e2e-no-pods", func(t *testing.T) func(t *testing.T) { return c.forbidPods(t) }},
	} {
		t.Run(cause.name, func(t *testing.T) {
			defer env.collectOnFailure(t)
			eventually(t, "all is well before", env.degraded(t, c, metav1.ConditionFalse, agentIsAvailable, ""))
			start := time.Now()
			mend := cause.breakIt(t)
			must(t, "the hub says what is wrong", poll(t.Context(), atOnce, env.degraded(t, c, metav1.ConditionTrue, cause.reason, cause.message)))
			timings.record(c.name+": broken by "+cause.name+" → Degraded", time.Since(start))
			mend(t)
			start = time.Now()
			eventually(t, "the agent is available again", c.agentAvailable)
			eventually(t, "the hub says that all is well", env.degraded(t, c, metav1.ConditionFalse, agentIsAvailable, ""))
			timings.record(c.name+": mended by "+cause.name+" → not Degraded", time.Since(start))
			env.settle(t, c)
		})
	}
}

// degraded checks the add-on's condition Degraded.
func (e *environment) degraded(t *testing.T, c *cluster, status metav1.ConditionStatus, reason, message string) check {
	last := ""
	return func(ctx context.Context) error {
		found, err := e.conditionOf(ctx, c, degradedCondition)
		if err != nil {
			return err
		}
		if found == nil {
			return errors.New("there is no condition " + degradedCondition)
		}
		if line := fmt.Sprintf("%s/%s: %s", found.Status, found.Reason, found.Message); line != last {
			t.Logf("%s: %s=%s", c.name, degradedCondition, line)
			last = line
		}
		if found.Status != status || found.Reason != reason || !strings.Contains(found.Message, message) {
			return fmt.Errorf("want %s=%s/%s with %q, got %s/%s: %s", degradedCondition, status, reason, message, found.Status, found.Reason, found.Message)
		}
		return nil
	}
}

// breakByConfig gives the cluster's add-on a config of its own.
func (e *environment) breakByConfig(t *testing.T, c *cluster, spec string) func(t *testing.T) {
	t.Helper()
	config := e.createConfig(t, c.name, "e2e-broken", spec)
	cleanup(t, "take the config away", func(ctx context.Context) error { return ignoreNotFound(e.useConfig(ctx, c, "")) })
	must(t, "name the config in the ManagedClusterAddOn", e.useConfig(t.Context(), c, config.name))
	return func(t *testing.T) {
		t.Helper()
		must(t, "take the config away", e.useConfig(t.Context(), c, ""))
	}
}

// forbidPods puts a quota of no pods on the install namespace and ends the agent.
func (c *cluster) forbidPods(t *testing.T) func(t *testing.T) {
	t.Helper()
	quotas := c.kube.CoreV1().ResourceQuotas(c.installNamespace)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "e2e-no-pods"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}}}
	allow := func(ctx context.Context) error {
		return ignoreNotFound(quotas.Delete(ctx, quota.Name, metav1.DeleteOptions{}))
	}
	cleanup(t, "delete the quota", allow)
	_, err := quotas.Create(t.Context(), quota, metav1.CreateOptions{})
	must(t, "create a quota", err)
	eventually(t, "the quota is in force", func(ctx context.Context) error {
		now, err := quotas.Get(ctx, quota.Name, metav1.GetOptions{})
		if err == nil && len(now.Status.Hard) == 0 {
			err = errors.New("the quota controller has not seen it")
		}
		return err
	})
	c.deleteAgentPods(t)
	return func(t *testing.T) {
		t.Helper()
		must(t, "delete the quota", allow(t.Context()))
		// The ReplicaSet controller has backed off; an event makes it try again.
		sets := c.kube.AppsV1().ReplicaSets(c.installNamespace)
		list, err := sets.List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + agentDeployment})
		must(t, "list the agent's ReplicaSets", err)
		for i := range list.Items {
			_, err := sets.Patch(t.Context(), list.Items[i].Name, types.MergePatchType,
				[]byte(`{"metadata":{"annotations":{"e2e-try-again":"now"}}}`), metav1.PatchOptions{})
			must(t, "touch the agent's ReplicaSet", err)
		}
	}
}
