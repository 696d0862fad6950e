//go:build e2e && replicaset

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"
)

const (
	// setController is the Deployment, the ServiceAccount and the Lease of the controller that carries out
	// ConfigMapReplicaSets.
	setController = "helloworld-replicaset-controller"

	// The teams are namespaces of the hub. The first may use all clusters, each of the others one half.
	allClustersTeam = "helloworld-e2e-team"
	firstHalfTeam   = "helloworld-e2e-first"
	secondHalfTeam  = "helloworld-e2e-second"
)

// setScenario is what users of ConfigMapReplicaSets rely on.
type setScenario struct {
	name string
	// clusters is how many the scenario needs.
	clusters int
	run      func(t *testing.T, tm *team)
}

// setScenarios run in this order, on clusters on which the add-on is enabled. Each deletes what it made.
var setScenarios = []setScenario{
	{"each_cluster_gets_its_own_values", 2, valuesReachTheClusters},
	{"a_revision_goes_to_the_canary_group_first", 2, canaryGoesFirst},
	{"a_conflict_stops_the_rollout_in_the_canary_group", 4, conflictStopsInCanary},
	{"an_impossible_value_stops_the_rollout_in_the_canary_group", 4, impossibleValueStopsInCanary},
	{"a_rollout_can_be_paused_and_taken_back", 4, pausedAndTakenBack},
	{"kubectl_helloworld_diff_predicts_each_copy", 2, diffPredictsCopies},
	{"kubectl_helloworld_rollout_controls_it_from_a_terminal", 2, controlledFromTerminal},
	{"clusters_join_and_leave_during_a_rollout", 4, joinAndLeave},
	{"a_Placement_that_is_emptied_by_mistake_loses_nothing", 4, emptiedPlacement},
	{"a_team_reaches_its_own_clusters_alone", 4, tenancyOfTeams},
	{"the_controller_may_write_nowhere_else", 4, controllerIsConfined},
	{"a_deleted_set_removes_or_leaves_its_ConfigMaps", 2, deletionPolicies},
	{"the_older_set_has_a_ConfigMap_that_two_want", 2, olderSetWins},
	{"a_complete_rollout_causes_no_further_write", 4, completeRolloutIsSilent},
	{"a_rollout_survives_the_death_of_its_controller", 4, rolloutSurvivesController},
}

// TestReplicaSets needs the controller of ConfigMapReplicaSets on the hub: make deploy-example DISTRIBUTION=1.
func TestReplicaSets(t *testing.T) {
	env, err := loadEnvironment(os.Getenv, 2)
	if err != nil {
		t.Fatal(err)
	}
	env.requireReady(t)
	env.requireDistribution(t)
	must(t, "remove what a killed run left of the teams", env.deleteTeams(t.Context()))
	env.removeLeftovers(t)
	eventually(t, "without the add-on there is no right to write", env.mayNotWrite)
	cleanup(t, "the right to write ends with the add-on", func(ctx context.Context) error { return poll(ctx, deadline, env.mayNotWrite) })
	cleanup(t, "disable the add-on", env.restoreAll)
	cleanup(t, "delete the teams", env.deleteTeams)
	tm := env.newTeam(t, allClustersTeam, "global")
	env.enableAgents(t)
	for _, s := range setScenarios {
		t.Run(s.name, func(t *testing.T) {
			defer env.collectOnFailure(t)
			if len(env.clusters) < s.clusters {
				t.Fatalf("%s names %d clusters, the scenario needs %d", clustersEnv, len(env.clusters), s.clusters)
			}
			start := time.Now()
			s.run(t, tm)
			t.Logf("took %s", time.Since(start).Round(time.Millisecond))
		})
	}
}

// enableAgents enables the add-on, and waits until the agents work. Nothing here depends on the condition Available.
func (e *environment) enableAgents(t *testing.T) {
	t.Helper()
	e.enableWithout(t, 1)
}

// restoreAll brings the clusters back to where they were, all at the same time.
func (e *environment) restoreAll(ctx context.Context) error {
	errs := make([]error, len(e.clusters))
	var group sync.WaitGroup
	for i, c := range e.clusters {
		group.Go(func() { errs[i] = e.restore(ctx, c) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// requireDistribution fails where the controller of ConfigMapReplicaSets is not deployed.
func (e *environment) requireDistribution(t *testing.T) {
	t.Helper()
	eventually(t, "the controller of ConfigMapReplicaSets runs (deploy it: make deploy-example DISTRIBUTION=1 KUBECONFIG=<the hub's>)",
		func(ctx context.Context) error {
			d, err := e.hub.kube.AppsV1().Deployments(controllerNamespace).Get(ctx, setController, getOptions)
			if err != nil {
				return err
			}
			return deploymentAvailable(d)
		})
}

// A set gives every cluster its sources, with the values of that cluster: a label, a cluster claim, a CEL
// expression and a default. The set, its columns and an event report that every cluster has them.
func valuesReachTheClusters(t *testing.T, tm *team) {
	const name = "e2e-values"
	clusters := tm.clusters
	want := map[*cluster]map[string]string{}
	for _, c := range clusters {
		tm.labelCluster(t, c, regionLabel, "region-of-"+c.name)
		tm.claim(t, c, "claim-of-"+c.name)
		want[c] = map[string]string{
			"settings": "region=region-of-" + c.name + " zone=none claim=claim-of-" + c.name + " twice=" + c.name + c.name,
			"text":     "$(REGION) is $5",
		}
	}
	tm.place(t, name, nil, clusters...)
	tm.source(t, name, map[string]string{
		"settings": "region=$(REGION) zone=$(ZONE) claim=$(CLAIM) twice=$(NAME)$(NAME)", "text": "$$(REGION) is $5"})
	tm.source(t, name+"-second", map[string]string{"same": "on every cluster"})
	start := time.Now()
	tm.create(t, name, fmt.Sprintf(`{configMaps: [{name: %[1]s}, {name: %[1]s-second}], placementRefs: [{name: %[1]s}], values: [
		{name: REGION, label: %[2]s}, {name: ZONE, label: %[3]s, default: none}, {name: CLAIM, claim: %[4]s},
		{name: NAME, expression: "cluster.metadata.name"}]}`, name, regionLabel, absentLabel, claimName))
	for _, c := range clusters {
		eventually(t, c.name+" has its values", c.hasCopy(configMap(name, want[c])))
		eventually(t, c.name+" has the second ConfigMap", c.hasCopy(configMap(name+"-second", map[string]string{"same": "on every cluster"})))
	}
	eventually(t, "the rollout is complete", tm.rolledOut(name, len(clusters)))
	timings.record(fmt.Sprintf("ConfigMapReplicaSet → rolled out to %d clusters", len(clusters)), time.Since(start))
	eventually(t, "an event tells that", tm.event(name, "RolledOut"))
	n := fmt.Sprint(len(clusters))
	eventually(t, "kubectl get cmrs shows that", tm.columns("configmapreplicasets", tm.namespace, name, map[string]string{
		"Clusters": n, "Updated": n, "Synced": n, "Failed": "0", "Rolled-Out": "True", "Reason": "RolledOut"}))

	c := tm.second()
	tm.labelCluster(t, c, regionLabel, "moved")
	changed := with(want[c], "settings", "region=moved zone=none claim=claim-of-"+c.name+" twice="+c.name+c.name)
	eventually(t, "another label of a cluster changes its ConfigMap", c.hasCopy(configMap(name, changed)))
	must(t, "the others keep theirs", tm.first().hasCopy(configMap(name, want[tm.first()]))(t.Context()))
	eventually(t, "the rollout is complete", tm.rolledOut(name, len(clusters)))
}

// A finished rollout is silent: nothing writes to the set, its revisions, its ConfigMaps, the agents'
// reports and the copies.
func completeRolloutIsSilent(t *testing.T, tm *team) {
	const name = "e2e-silent"
	tm.place(t, name, nil, tm.clusters...)
	tm.source(t, name, one)
	tm.create(t, name, fmt.Sprintf(plainSet, name))
	tm.everywhere(t, name, one, tm.clusters...)
	before, err := tm.allVersions(t.Context())
	must(t, "read the versions of all objects", err)
	consistently(t, 5*time.Second, "no object is written", func(ctx context.Context) error {
		now, err := tm.allVersions(ctx)
		if err != nil {
			return err
		}
		return differ("the objects", before, now)
	})
}
