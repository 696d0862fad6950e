//go:build e2e && replicaset

package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	one = map[string]string{"revision": "one"}
	two = map[string]string{"revision": "two"}
)

// A revision goes to the canary group alone. The others get it when the canary's agent has reported it as synced
// for minSuccessTime. That goes for the first revision and for the next one.
func canaryGoesFirst(t *testing.T, tm *team) {
	const name, soak = "e2e-canary", 4 * time.Second
	canary := tm.second()
	others := without(tm.clusters, canary)
	tm.place(t, name, canary, tm.clusters...)
	tm.source(t, name, one)
	tm.create(t, name, fmt.Sprintf(`{configMaps: [{name: %[1]s}], placementRefs: [{name: %[1]s, rolloutStrategy:
		{type: ProgressivePerGroup, progressivePerGroup: {minSuccessTime: %[2]s, progressDeadline: 2m}}}]}`, name, soak))
	for _, data := range []map[string]string{one, two} {
		tm.source(t, name, data)
		eventually(t, "the others get it", func(ctx context.Context) error {
			// The others first: what is then read of the canary is newer.
			var waiting error
			for _, c := range others {
				cm, err := tm.delivered(ctx, c, name)
				if err != nil || cm.Data["revision"] != data["revision"] {
					waiting = errors.Join(waiting, fmt.Errorf("%s does not have it yet", c.name), ignoreNotFound(err))
				}
			}
			cm, err := canary.copyOf(ctx, name)
			if err := ignoreNotFound(err); err != nil {
				return err
			}
			if waiting == nil && (cm == nil || cm.Data["revision"] != data["revision"]) {
				t.Fatalf("the others have what %s, the canary, has not: %+v", canary.name, cm)
			}
			return waiting
		})
		tm.everywhere(t, name, data, tm.clusters...)
		s, err := tm.set(t.Context(), name)
		must(t, "get the set", err)
		if groups := s.Status.Placements[0].Groups; len(groups) != 2 || groups[0].Name != "canary" || groups[0].Summary.Synced != 1 {
			t.Errorf("want the group canary with one cluster first: %+v", groups)
		}
		steps := tm.steps(t, name, s.Status.UpdatedRevision, tm.clusters...)
		if steps[0].cluster != canary.name {
			t.Errorf("%s came first, want the canary: %+v", steps[0].cluster, steps)
		}
		for _, other := range steps[1:] {
			if soaked := other.given.Sub(steps[0].synced); soaked < soak {
				t.Errorf("%s was given the revision %s after the canary was synced, want %s: %+v", other.cluster, soaked, soak, steps)
			}
		}
	}
}

// A revision with a ConfigMap whose name belongs to someone else on the canary cluster stops there. The other clusters
// keep the former revision, and the set names the cluster and the cause. When the name is free, the rollout goes on.
func conflictStopsInCanary(t *testing.T, tm *team) {
	const name, taken = "e2e-conflict", "e2e-conflict-taken"
	canary := tm.second()
	others := without(tm.clusters, canary)
	foreign := canary.createForeign(t, configMap(taken, map[string]string{"owner": "another team"}))
	tm.place(t, name, canary, tm.clusters...)
	tm.source(t, name, one)
	tm.source(t, taken, two)
	tm.create(t, name, fmt.Sprintf(canarySet, name))
	tm.everywhere(t, name, one, tm.clusters...)
	former := tm.unchanged(t, others, name, taken)

	tm.change(t, name, fmt.Sprintf(`{"configMaps":[{"name":%q},{"name":%q}]}`, name, taken))
	eventually(t, "the rollout stops", tm.tells(name, "RolledOut", metav1.ConditionFalse, "Stopped", "decision group canary", "1 of 1 clusters"))
	eventually(t, "the set names cluster and cause", tm.tells(name, "Degraded", metav1.ConditionTrue, "Stopped", canary.name, taken, "Conflict"))
	s, err := tm.set(t.Context(), name)
	must(t, "get the set", err)
	must(t, "the counts", differ("summary", clusterCounts{Total: 4, Updated: 1, Failed: 1}, s.Status.Summary))
	if s.Status.CurrentRevision == s.Status.UpdatedRevision {
		t.Errorf("the current revision is the one that stopped: %+v", s.Status)
	}
	consistently(t, quiet, "no other cluster is touched", former)
	must(t, "the object of the other owner is as it was", canary.untouched(foreign)(t.Context()))

	must(t, "the other owner gives the name up",
		canary.kube.CoreV1().ConfigMaps(canary.installNamespace).Delete(t.Context(), taken, metav1.DeleteOptions{}))
	for _, c := range tm.clusters {
		eventually(t, c.name+" has the copy", c.hasCopy(configMap(taken, two)))
	}
	tm.everywhere(t, name, one, tm.clusters...)
}

// A value that one cluster cannot have stops the rollout before that cluster gets anything. Here the canary lacks a
// label, and then a CEL expression fails there. A $(NAME) without a value makes no revision at all.
func impossibleValueStopsInCanary(t *testing.T, tm *team) {
	const name = "e2e-impossible"
	canary := tm.second()
	for _, c := range without(tm.clusters, canary) {
		tm.labelCluster(t, c, regionLabel, "eu")
	}
	tm.place(t, name, canary, tm.clusters...)
	tm.source(t, name, one)
	tm.create(t, name, fmt.Sprintf(canarySet, name))
	tm.everywhere(t, name, one, tm.clusters...)
	former := tm.unchanged(t, tm.clusters, name)
	tm.source(t, name, map[string]string{"revision": "$(REGION)"})
	eventually(t, "the set reports the name without a value", tm.tells(name, "Degraded", metav1.ConditionTrue, "SourcesInvalid", "$(REGION) has no value"))
	for _, impossible := range []struct{ value, cause string }{
		{fmt.Sprintf(`{"name":"REGION","label":%q}`, regionLabel), "has no label " + regionLabel},
		{fmt.Sprintf(`{"name":"REGION","expression":"cluster.metadata.labels['%s']"}`, regionLabel), "no such key"},
	} {
		tm.change(t, name, `{"values":[`+impossible.value+`]}`)
		eventually(t, "the rollout stops", tm.tells(name, "RolledOut", metav1.ConditionFalse, "Stopped", "decision group canary"))
		eventually(t, "the set names cluster and cause", tm.tells(name, "Degraded", metav1.ConditionTrue, "Stopped", canary.name, "REGION", impossible.cause))
		consistently(t, quiet, "no cluster is touched", former)
	}
	tm.change(t, name, fmt.Sprintf(`{"values":[{"name":"REGION","label":%q,"default":"eu"}]}`, regionLabel))
	tm.everywhere(t, name, map[string]string{"revision": "eu"}, tm.clusters...)
}

// A paused set gives no further cluster another revision. A revision that is taken back by writing the former content
// is the former revision again.
func pausedAndTakenBack(t *testing.T, tm *team) {
	const name = "e2e-paused"
	canary := tm.second()
	others := without(tm.clusters, canary)
	tm.place(t, name, canary, tm.clusters...)
	tm.source(t, name, one)
	tm.create(t, name, fmt.Sprintf(`{configMaps: [{name: %[1]s}], placementRefs: [{name: %[1]s, rolloutStrategy:
		{type: ProgressivePerGroup, progressivePerGroup: {minSuccessTime: 3s}}}]}`, name))
	tm.everywhere(t, name, one, tm.clusters...)
	former, err := tm.set(t.Context(), name)
	must(t, "get the set", err)

	tm.change(t, name, `{"paused":true}`)
	tm.source(t, name, two)
	eventually(t, "the pause is reported", tm.tells(name, "RolledOut", metav1.ConditionFalse, "Paused", "0 of 4 clusters"))
	consistently(t, quiet, "no cluster is touched", tm.unchanged(t, tm.clusters, name))

	// The soak time ends when the set is paused again.
	tm.change(t, name, perGroup(name, `{"minSuccessTime":"1h"}`))
	tm.change(t, name, `{"paused":false}`)
	eventually(t, "the canary gets the revision", canary.hasCopy(configMap(name, two)))
	tm.change(t, name, `{"paused":true}`)
	untouched := tm.unchanged(t, others, name)
	eventually(t, "the pause is reported", tm.tells(name, "RolledOut", metav1.ConditionFalse, "Paused", "1 of 4 clusters"))
	tm.change(t, name, perGroup(name, `{"minSuccessTime":"3s"}`))
	consistently(t, 5*time.Second, "after its soak time no other cluster is touched", untouched)
	tm.change(t, name, `{"paused":false}`)
	tm.everywhere(t, name, two, tm.clusters...)
	revisions := tm.revisions(t, name)

	tm.source(t, name, one)
	tm.everywhere(t, name, one, tm.clusters...)
	s, err := tm.set(t.Context(), name)
	must(t, "get the set", err)
	must(t, "the former revision is back", differ("updatedRevision", former.Status.UpdatedRevision, s.Status.UpdatedRevision))
	must(t, "no revision was stored anew", differ("ControllerRevisions", revisions, tm.revisions(t, name)))
}

// A cluster that joins during a rollout gets the current revision, until its step of the rollout. A cluster that
// leaves loses its copy.
func joinAndLeave(t *testing.T, tm *team) {
	const name = "e2e-joining"
	canary, stays, leaves, joins := tm.clusters[1], tm.clusters[0], tm.clusters[2], tm.clusters[3]
	tm.place(t, name, canary, canary, stays, leaves)
	tm.source(t, name, one)
	tm.create(t, name, fmt.Sprintf(canarySet, name))
	tm.everywhere(t, name, one, canary, stays, leaves)

	// The rollout stays in the middle as long as the test wants it.
	tm.change(t, name, perGroup(name, `{"minSuccessTime":"1h"}`))
	tm.source(t, name, two)
	eventually(t, "the canary gets the revision", canary.hasCopy(configMap(name, two)))
	tm.labelCluster(t, joins, chosenLabel, name)
	tm.labelCluster(t, leaves, chosenLabel, "")
	eventually(t, joins.name+" joins with the current revision", joins.hasCopy(configMap(name, one)))
	eventually(t, leaves.name+" loses its copy", leaves.hasNoCopy(name))
	must(t, stays.name+" waits for its step", stays.hasCopy(configMap(name, one))(t.Context()))
	eventually(t, "the counts", func(ctx context.Context) error {
		s, err := tm.set(ctx, name)
		if err != nil {
			return err
		}
		return differ("summary", clusterCounts{Total: 3, Updated: 1, Synced: 1}, s.Status.Summary)
	})

	tm.change(t, name, perGroup(name, `{"minSuccessTime":null}`))
	tm.everywhere(t, name, two, canary, stays, joins)
	must(t, leaves.name+" has none", leaves.hasNoCopy(name)(t.Context()))
}

// perGroup is a change of a set's strategy.
func perGroup(placement, strategy string) string {
	return fmt.Sprintf(`{"placementRefs":[{"name":%q,"rolloutStrategy":{"type":"ProgressivePerGroup","progressivePerGroup":%s}}]}`, placement, strategy)
}
