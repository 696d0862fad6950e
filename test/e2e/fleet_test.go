//go:build e2e && fleet

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// Shell commands that get a cluster's name as their argument: how depends on
	// what the clusters are. Cut: the cluster and its hub no longer reach each
	// other. Rejoin: a cluster whose ManagedCluster was deleted joins again.
	cutEnv    = "CUT_CLUSTER"
	mendEnv   = "MEND_CLUSTER"
	rejoinEnv = "REJOIN_CLUSTER"
	// insideEnv has kubeconfigs as CLUSTER_KUBECONFIGS, with the addresses at which
	// pods on the other clusters reach the API servers.
	insideEnv = "INSIDE_KUBECONFIGS"
)

// fleet are the scenarios of a hub operator, who changes something for many
// clusters at once. They run in this order, on three clusters on which the add-on
// is enabled. Each leaves them enabled, except the last one.
var fleet = []scenario{
	{"a_broken_agent_is_seen_on_the_hub_at_once", brokenAgentIsSeen},
	{"a_dead_agent_and_a_lost_cluster_are_seen_on_the_hub", deadAgentAndLostCluster},
	{"moving_the_install_namespace_is_refused_while_copies_are_there", movingIsRefused},
	{"changing_the_mode_of_a_deployed_agent_is_refused", hostingChangeIsRefused},
	{"a_hosted_agent_in_the_namespace_of_another_one_is_refused", hostedNeighbourIsRefused},
	{"a_broken_configuration_stops_at_the_first_group", brokenConfigStops},
	{"uninstalling_finds_the_namespace_that_a_placement_configured", placedNamespaceIsUninstalled},
}

// TestFleet needs the hub for itself: its ClusterManagementAddOn gets Placements,
// and then OCM removes the add-on from all clusters that these do not select.
func TestFleet(t *testing.T) {
	env, err := loadEnvironment(os.Getenv, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{cutEnv, mendEnv, rejoinEnv, insideEnv} {
		if os.Getenv(name) == "" {
			t.Fatalf("%s is not set: test/e2e/on-sandbox and test/e2e/on-kind show what it is", name)
		}
	}
	env.requireReady(t)
	env.requireNoOthers(t)
	env.removeLeftovers(t)
	for _, c := range env.clusters {
		cleanup(t, "disable the add-on on "+c.name, func(ctx context.Context) error { return env.restore(ctx, c) })
	}
	env.enableAll(t)
	for _, s := range fleet {
		t.Run(s.name, func(t *testing.T) {
			defer env.collectOnFailure(t)
			start := time.Now()
			s.run(t, env)
			t.Logf("took %s", time.Since(start).Round(time.Millisecond))
		})
	}
}

// third is the cluster that TestFleet has besides the two of TestScenarios.
func (e *environment) third() *cluster { return e.clusters[2] }

// requireNoOthers fails the test where the add-on is enabled on a cluster that
// the suite was not given: a Placements strategy would remove it there.
func (e *environment) requireNoOthers(t *testing.T) {
	t.Helper()
	addOns, err := e.hub.addon.AddonV1beta1().ManagedClusterAddOns(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
	must(t, "list ManagedClusterAddOns", err)
	given := map[string]bool{}
	for _, c := range e.clusters {
		given[c.name] = true
	}
	for i := range addOns.Items {
		if a := &addOns.Items[i]; a.Name == addonName && !given[a.Namespace] {
			t.Fatalf("the add-on is enabled on %s, which %s does not name: TestFleet would remove it there", a.Namespace, clustersEnv)
		}
	}
}

// enableAgain enables the add-on as TestFleet found it, and waits until it works.
func (e *environment) enableAgain(t *testing.T, clusters ...*cluster) {
	t.Helper()
	for _, c := range clusters {
		must(t, "delete used certificate requests", e.deleteUsedRequests(t.Context(), c))
		must(t, "enable the add-on", e.enableV1alpha1(t.Context(), c))
	}
	for _, c := range clusters {
		eventually(t, c.name+": the agent is available", c.agentAvailable)
	}
	for _, c := range clusters {
		eventually(t, c.name+": all is well", e.healthy(c))
	}
}

// runFor runs a command of the environment with the cluster's name.
func runFor(ctx context.Context, name string, c *cluster) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	command := os.Getenv(name) + " " + c.name
	if output, err := exec.CommandContext(ctx, "sh", "-c", command).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, strings.TrimSpace(string(output)))
	}
	return nil
}
