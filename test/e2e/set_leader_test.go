//go:build e2e && replicaset

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// setTakeover is a guard: a leader that is killed holds its lease for a minute.
const setTakeover = 3 * time.Minute

// A controller that is killed in the middle of a rollout is followed by the other replica, which ends the rollout in
// the same steps: one cluster at a time, each after the soak time of the one before.
func rolloutSurvivesController(t *testing.T, tm *team) {
	const name, soak = "e2e-survives", 6 * time.Second
	tm.place(t, name, nil, tm.clusters...)
	tm.source(t, name, one)
	tm.create(t, name, fmt.Sprintf(plainSet, name))
	tm.everywhere(t, name, one, tm.clusters...)
	tm.change(t, name, fmt.Sprintf(`{"placementRefs":[{"name":%q,"rolloutStrategy":{"type":"Progressive","progressive":
		{"maxConcurrency":1,"minSuccessTime":%q}}}]}`, name, soak))
	leader := tm.setLeader(t)
	tm.source(t, name, two)
	eventually(t, "the rollout has begun", tm.tells(name, "RolledOut", metav1.ConditionFalse, "Progressing", "1 of 4 clusters"))
	start, zero := time.Now(), int64(0)
	must(t, "kill the leader", tm.hub.kube.CoreV1().Pods(controllerNamespace).Delete(t.Context(), leader, metav1.DeleteOptions{GracePeriodSeconds: &zero}))
	must(t, "the rollout is complete", poll(t.Context(), setTakeover, tm.rolledOut(name, len(tm.clusters))))
	timings.record("hub: ConfigMapReplicaSets' leader killed → rollout complete", time.Since(start))
	if now := tm.setLeader(t); now == leader {
		t.Errorf("%s leads as before: its death had no effect", leader)
	}
	tm.everywhere(t, name, two, tm.clusters...)
	s, err := tm.set(t.Context(), name)
	must(t, "get the set", err)
	steps := tm.steps(t, name, s.Status.UpdatedRevision, tm.clusters...)
	for i := range steps[1:] {
		if soaked := steps[i+1].given.Sub(steps[i].synced); soaked < soak {
			t.Errorf("%s was given the revision %s after %s was synced, want %s: %+v", steps[i+1].cluster, soaked, steps[i].cluster, soak, steps)
		}
	}
}

// setLeader is the pod that holds the Lease of the controller of ConfigMapReplicaSets.
func (tm *team) setLeader(t *testing.T) string {
	t.Helper()
	leader := ""
	eventually(t, "a controller of ConfigMapReplicaSets leads", func(ctx context.Context) error {
		lease, err := tm.hub.kube.CoordinationV1().Leases(controllerNamespace).Get(ctx, setController, getOptions)
		if err != nil {
			return err
		}
		if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
			return fmt.Errorf("the Lease has no holder: %+v", lease.Spec)
		}
		leader = *lease.Spec.HolderIdentity
		return nil
	})
	return leader
}
