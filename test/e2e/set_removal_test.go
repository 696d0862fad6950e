//go:build e2e && replicaset

package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A Placement that is emptied, or deleted, removes nothing at first. When it is restored, nothing was lost. When the
// removals are released, they are carried out.
func emptiedPlacement(t *testing.T, tm *team) {
	const name = "e2e-emptied"
	tm.place(t, name, nil, tm.clusters...)
	tm.source(t, name, one)
	tm.create(t, name, fmt.Sprintf(plainSet, name))
	tm.everywhere(t, name, one, tm.clusters...)
	copies := copyUIDs(t, name, tm.clusters...)
	onHub := tm.unchanged(t, tm.clusters, name)
	nothingLost := func(ctx context.Context) error { return errors.Join(onHub(ctx), copies(ctx)) }

	must(t, "empty the Placement", tm.apply(t.Context(), placements, name, fmt.Sprintf(placementManifest, name, "no-cluster", "")))
	eventually(t, "the removals are held", tm.tells(name, "Degraded", metav1.ConditionTrue, "RemovalsHeld", "from 4 clusters", releaseAnnotation+"="))
	if held := tm.held(t, name); held.Clusters != 4 {
		t.Errorf("status.heldRemovals is %+v, want 4 clusters", held)
	}
	consistently(t, quiet, "nothing is removed", nothingLost)
	must(t, "restore the Placement", tm.apply(t.Context(), placements, name, fmt.Sprintf(placementManifest, name, name, "")))
	eventually(t, "all is as before", tm.rolledOut(name, len(tm.clusters)))
	must(t, "nothing was lost", nothingLost(t.Context()))
	if held := tm.held(t, name); held != nil {
		t.Errorf("status.heldRemovals is %+v, want none", held)
	}

	must(t, "delete the Placement", tm.deleteObject(t.Context(), placements, name))
	eventually(t, "the set reports that", tm.tells(name, "PlacementsResolved", metav1.ConditionFalse, "PlacementNotFound", name))
	eventually(t, "the removals are held", tm.tells(name, "Degraded", metav1.ConditionTrue, "RemovalsHeld"))
	consistently(t, quiet, "nothing is removed", nothingLost)
	tm.release(t, name, tm.held(t, name).ID)
	for _, c := range tm.clusters {
		eventually(t, c.name+" has no copy", c.hasNoCopy(name))
	}
}

// held is status.heldRemovals of a set.
func (tm *team) held(t *testing.T, name string) *heldRemovals {
	t.Helper()
	s, err := tm.set(t.Context(), name)
	must(t, "get the set", err)
	return s.Status.HeldRemovals
}

// release releases held removals, as the condition tells users to do.
func (tm *team) release(t *testing.T, name, id string) {
	t.Helper()
	_, err := tm.dynamic.Resource(replicaSets).Namespace(tm.namespace).Patch(t.Context(), name, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, releaseAnnotation, id), metav1.PatchOptions{})
	must(t, "release the removals", err)
}

// A set that is deleted removes its ConfigMaps. With deletionPolicy Orphan they stay as plain ConfigMaps, and their
// copies with them.
func deletionPolicies(t *testing.T, tm *team) {
	const deleted, orphaned = "e2e-deleted", "e2e-orphaned"
	clusters := tm.clusters[:2]
	tm.place(t, deleted, nil, clusters...)
	for name, policy := range map[string]string{deleted: "Delete", orphaned: "Orphan"} {
		tm.source(t, name, one)
		tm.create(t, name, fmt.Sprintf(`{configMaps: [{name: %s}], placementRefs: [{name: %s}], deletionPolicy: %s}`, name, deleted, policy))
	}
	for _, c := range clusters {
		cleanup(t, "delete what was orphaned on "+c.name, func(ctx context.Context) error {
			err := ignoreNotFound(tm.hub.kube.CoreV1().ConfigMaps(c.name).Delete(ctx, orphaned, metav1.DeleteOptions{}))
			return errors.Join(err, poll(ctx, deadline, c.hasNoCopy(orphaned)))
		})
	}
	tm.everywhere(t, deleted, one, clusters...)
	tm.everywhere(t, orphaned, one, clusters...)
	copies := copyUIDs(t, orphaned, clusters...)
	for _, name := range []string{deleted, orphaned} {
		must(t, "delete the set", tm.deleteObject(t.Context(), replicaSets, name))
		eventually(t, "the set is gone", tm.setGone(name))
	}
	for _, c := range clusters {
		eventually(t, c.name+" has no copy", c.hasNoCopy(deleted))
		plain, err := tm.delivered(t.Context(), c, orphaned)
		must(t, "the orphaned ConfigMap is there", err)
		for _, marks := range []map[string]string{plain.Labels, plain.Annotations} {
			for _, mark := range []string{managedByLabel, setUIDLabel, setAnnotation, revisionAnnotation, revisionSinceAnnotation} {
				if value, marked := marks[mark]; marked {
					t.Errorf("%s: the orphaned ConfigMap has the mark %s=%s", c.name, mark, value)
				}
			}
		}
		tm.settle(t, c)
	}
	must(t, "the copies are the ones from before", copies(t.Context()))
}

// Of two sets that write a ConfigMap of one name to a cluster the older one has it, and the younger one reports that. A
// ConfigMap that belongs to no set is left alone, too. What is free goes to the set that waits.
func olderSetWins(t *testing.T, tm *team) {
	const older, younger, source = "e2e-older", "e2e-younger", "e2e-wanted"
	c := tm.first()
	value := func(who string) string {
		return fmt.Sprintf(`{configMaps: [{name: %s}], placementRefs: [{name: %s}], values: [{name: WHO, expression: "'%s'"}]}`, source, older, who)
	}
	foreign := tm.createSource(t, c, configMap(source, map[string]string{"owner": "another team"}))
	tm.place(t, older, nil, c)
	tm.source(t, source, map[string]string{"who": "$(WHO)"})
	tm.create(t, older, value("older"))
	eventually(t, "the set reports the other owner", tm.tells(older, "Degraded", metav1.ConditionTrue, "ClustersFailed",
		c.name, "ConfigMap "+source+" does not belong to a ConfigMapReplicaSet"))
	tm.create(t, younger, value("younger"))
	eventually(t, "the younger set reports the older one", tm.tells(younger, "Degraded", metav1.ConditionTrue, "ClustersFailed",
		c.name, source, tm.namespace+"/"+older, "which is older"))
	must(t, "the ConfigMap of the other owner is as it was", c.hasCopy(foreign)(t.Context()))

	tm.deleteSource(t, c, source)
	eventually(t, "the older set has it", c.hasCopy(configMap(source, map[string]string{"who": "older"})))
	eventually(t, "its rollout is complete", tm.rolledOut(older, 1))
	must(t, "the younger one still reports it",
		tm.tells(younger, "Degraded", metav1.ConditionTrue, "ClustersFailed", tm.namespace+"/"+older)(t.Context()))
	must(t, "delete the older set", tm.deleteObject(t.Context(), replicaSets, older))
	eventually(t, "the younger set has it", c.hasCopy(configMap(source, map[string]string{"who": "younger"})))
	eventually(t, "its rollout is complete", tm.rolledOut(younger, 1))
}
