//go:build e2e && fleet

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
)

const (
	rolloutPlacement = "helloworld-e2e-rollout"
	// rolloutStrategy goes on to the next decision group when the one before is done.
	// After the deadline OCM counts a cluster that is not done.
	rolloutStrategy = `{"type":"ProgressivePerGroup","progressivePerGroup":{"progressDeadline":"30s","maxFailures":0}}`

	goodConfig   = `{"resourceRequirements":%s,"customizedVariables":[{"name":"LogVerbosity","value":"2"}]}`
	requirements = `[{"containerID":"deployments:helloworld-agent:helloworld-agent","resources":{"requests":{"cpu":%q,"memory":"48Mi"}}}]`
	// brokenImage does not exist.
	brokenImage  = "registry.example.com/helloworld-addon:none"
	brokenConfig = `{"customizedVariables":[{"name":"AgentImage","value":"` + brokenImage + `"}]}`
	mendedConfig = `{"customizedVariables":[{"name":"LogVerbosity","value":"2"}]}`
)

// The rollout strategy of the ClusterManagementAddOn holds (docs/design.md#rollout): a
// configuration goes to the next decision group only when the agents of the group
// before are available with it. A configuration whose image does not start stops at
// the first group, and the ClusterManagementAddOn reports that.
func brokenConfigStops(t *testing.T, env *environment) {
	config := env.createConfig(t, controllerNamespace, "e2e-rollout", fmt.Sprintf(goodConfig, cpuRequest("11m")))
	groups := env.place(t, rolloutPlacement, env.clusters...)
	env.installBy(t, strategyOf(rolloutPlacement, config.ref(), rolloutStrategy))
	env.rolledOutInOrder(t, groups, "11m")
	eventually(t, "the rollout is completed", env.progresses(t, "Completed", ""))
	before := env.agentsOf(t, groups)

	config.edit(t, brokenConfig)
	canary, others := groups[0], groups[1:]
	eventually(t, canary.name+", the first group, gets the image", canary.hasImage(brokenImage))
	undisturbed := func(ctx context.Context) error { return env.undisturbed(ctx, others, before) }
	timedOut := env.progresses(t, "Progressing", "1 timeout")
	stillUndisturbed := fatal(t, "the image that does not start goes on to the next group", undisturbed)
	failed := func(ctx context.Context) error {
		if err := stillUndisturbed(ctx); err != nil {
			return err
		}
		return errors.Join(timedOut(ctx), unless(canary.agentAvailable(ctx), "it is available"))
	}
	eventually(t, "the ClusterManagementAddOn says that the rollout fails", failed)
	consistently(t, 10*time.Second, "the other groups keep the image before", observations(undisturbed))

	config.edit(t, mendedConfig)
	eventually(t, "the edit that is taken back completes the rollout", env.progresses(t, "Completed", ""))
	eventually(t, canary.name+" has a working agent again", canary.agentAvailable)
	eventually(t, "the other groups never changed", stillUndisturbed)
	for _, c := range groups {
		env.settle(t, c)
	}

	config.edit(t, `{"resourceRequirements":`+cpuRequest("12m")+`}`)
	env.rolledOutInOrder(t, groups, "12m")
	eventually(t, "the rollout is completed", env.progresses(t, "Completed", ""))
}

func cpuRequest(cpu string) string { return fmt.Sprintf(requirements, cpu) }

// rolledOutInOrder waits until all agents are available with the CPU request, and
// fails when one gets it before the agent of the group before is available with it.
func (e *environment) rolledOutInOrder(t *testing.T, groups []*cluster, cpu string) {
	t.Helper()
	start := time.Now()
	done := map[string]bool{}
	eventually(t, "every group gets the configuration", func(ctx context.Context) error {
		// From the last to the first: what was seen of a later group is older than
		// what is then seen of the group before.
		got := make([]bool, len(groups))
		var errs []error
		for i := len(groups) - 1; i >= 0; i-- {
			d, err := groups[i].agent(ctx)
			if err != nil {
				return err
			}
			got[i] = shippedBy(d).CPU == cpu
			available := deploymentAvailable(d)
			if !got[i] {
				available = fmt.Errorf("%s does not have the configuration yet", groups[i].name)
			}
			if available == nil && !done[groups[i].name] {
				done[groups[i].name] = true
				t.Logf("%s, group %d, is available with %s after %s", groups[i].name, i, cpu, time.Since(start).Round(time.Millisecond))
			}
			if i+1 < len(groups) && got[i+1] && available != nil {
				t.Fatalf("%s, group %d, has the configuration before %s is available with it: %v",
					groups[i+1].name, i+1, groups[i].name, available)
			}
			errs = append(errs, available)
		}
		return errors.Join(errs...)
	})
	timings.record("configuration → all of three groups of one", time.Since(start))
}

// progresses checks the condition Progressing of the Placement's rollout.
func (e *environment) progresses(t *testing.T, reason, message string) check {
	last := ""
	return func(ctx context.Context) error {
		condition, err := e.progression(ctx, rolloutPlacement)
		if err != nil {
			return err
		}
		if line := fmt.Sprintf("%s/%s: %s", condition.Status, condition.Reason, condition.Message); line != last {
			t.Logf("installProgressions: Progressing=%s", line)
			last = line
		}
		if condition.Reason != reason || !strings.Contains(condition.Message, message) {
			return fmt.Errorf("want Progressing with reason %s and %q: %+v", reason, message, condition)
		}
		return nil
	}
}

// agentsOf are the agents' pods.
func (e *environment) agentsOf(t *testing.T, clusters []*cluster) map[string]string {
	t.Helper()
	agents := map[string]string{}
	for _, c := range clusters {
		eventually(t, c.name+": the agent is rolled out", c.agentAvailable)
		found, err := c.podsAsText(t.Context())
		must(t, "list the agent's pods", err)
		agents[c.name] = found
	}
	return agents
}

// podsAsText are the agent's pods, by name and UID.
func (c *cluster) podsAsText(ctx context.Context) (string, error) {
	pods, err := c.agentPods(ctx)
	var names []string
	for i := range pods {
		names = append(names, pods[i].Name+" ("+string(pods[i].UID)+")")
	}
	slices.Sort(names)
	return strings.Join(names, ", "), err
}

// undisturbed checks that the clusters' agents are the ones from before, and that
// nothing on the hub says that they are not well.
func (e *environment) undisturbed(ctx context.Context, clusters []*cluster, before map[string]string) error {
	for _, c := range clusters {
		if err := e.undisturbedAgent(ctx, c, before); err != nil {
			return err
		}
		for _, condition := range []string{addonv1beta1.ManagedClusterAddOnConditionAvailable, addonv1beta1.ManagedClusterAddOnManifestApplied, syncedCondition} {
			if err := e.addonCondition(c, condition)(ctx); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	return nil
}

func (c *cluster) hasImage(image string) check {
	return func(ctx context.Context) error {
		d, err := c.agent(ctx)
		if err != nil {
			return err
		}
		if got := d.Spec.Template.Spec.Containers[0].Image; got != image {
			return fmt.Errorf("the image is %s, want %s", got, image)
		}
		return nil
	}
}
