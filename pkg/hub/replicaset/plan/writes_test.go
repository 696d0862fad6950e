package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
)

const (
	resolved = "PlacementsResolved=True/Resolved "
	fine     = " Degraded=False/AsExpected"
)

func TestWrites(t *testing.T) {
	tests := []struct {
		name   string
		reason string
		change func(f *fixture)
		writes string
		status string // the conditions, if not empty
	}{
		{"first", "every cluster gets all ConfigMaps", func(f *fixture) { f.place("p", "c2|c1") },
			"create c1/a r2, create c1/b r2, create c2/a r2, create c2/b r2", resolved + "RolledOut=False/Progressing" + fine},
		{"done", "nothing to do", func(f *fixture) { f.place("p", "c1 c2"); f.synced("c1 c2", "r2", 60) }, "", resolved + "RolledOut=True/RolledOut" + fine},
		{"update", "marks and content", func(f *fixture) { f.place("p", "c1"); f.synced("c1", "r1", 60) }, "update c1/a r2, update c1/b r2", ""},
		{"drift", "content that was changed", func(f *fixture) { f.place("p", "c1"); f.synced("c1", "r2", 60); f.Objects[1].Content = "changed" }, "update c1/b r2",
			resolved + "RolledOut=True/RolledOut" + fine},
		{"deleted copy", "it is created again", func(f *fixture) { f.place("p", "c1"); f.synced("c1", "r2", 60); f.Objects = f.Objects[:1] }, "create c1/b r2",
			resolved + "RolledOut=False/Progressing" + fine},
		{"a ConfigMap too many", "in place of one too few", func(f *fixture) {
			f.place("p", "c1")
			f.synced("c1", "r2", 60)
			f.Objects[1].Name = "c"
		}, "create c1/b r2, delete c1/c", resolved + "RolledOut=False/Progressing" + fine},
		{"immutable", "content cannot be updated", func(f *fixture) {
			f.place("p", "c1")
			f.synced("c1", "r1", 60)
			f.Objects[0].Immutable = true
		}, "replace c1/a r2, update c1/b r2", ""},
		{"immutable, same content", "marks can be updated", func(f *fixture) {
			f.place("p", "c1")
			f.synced("c1", "r1", 60)
			f.Objects[0].Immutable, f.Objects[0].Content = true, "r2a"
		}, "update c1/a r2, update c1/b r2", ""},
		{"no time", "an annotation that is missing or invalid is written again", func(f *fixture) {
			f.place("p", "c1")
			f.synced("c1", "r2", 60)
			f.Objects[0].Since = time.Time{}
		}, "update c1/a r2", resolved + "RolledOut=False/Progressing" + fine},
		{"no finalizer", "first the finalizer", func(f *fixture) { f.place("p", "c1"); f.Set.Finalizers = nil }, "", "none"},
		{"killed between two writes", "the rest is written, and counts as in progress", func(f *fixture) {
			f.place("p", "c1 c2")
			f.progressive(0, clusterv1alpha1.RolloutConfig{})
			f.synced("c1", "r1", 60)
			f.Objects[1].Revision, f.Objects[1].Content = "r2", "r2b"
		}, "update c1/a r2, create c2/a r1, create c2/b r1", resolved + "RolledOut=False/Progressing" + fine},
		{"a revision with fewer ConfigMaps", "what it lacks is deleted last", func(f *fixture) {
			f.place("p", "c1")
			f.names["r2"] = []string{"b", "c"}
			f.synced("c1", "r1", 60)
		}, "update c1/b r2, create c1/c r2, delete c1/a", ""},
		{"a revision with fewer ConfigMaps, orphan", "the deletion policy is not about that", func(f *fixture) {
			f.place("p", "c1")
			f.Set.Spec.DeletionPolicy = v1alpha1.DeletionOrphan
			f.names["r2"] = []string{"b"}
			f.synced("c1", "r1", 60)
		}, "update c1/b r2, delete c1/a", ""},

		// Revisions
		{"late", "a late cluster keeps its revision, repaired", func(f *fixture) {
			f.place("p", "c1 c2")
			f.progressive(0, clusterv1alpha1.RolloutConfig{})
			f.synced("c1", "r2", 60)
			f.Reports = nil
			f.synced0("c2", "r1", 600)
			f.Objects[3].Content = "changed"
		}, "update c2/b r1", ""},
		{"late, mixed", "never parts of two revisions: the later one", func(f *fixture) {
			f.place("p", "c1 c2")
			f.progressive(0, clusterv1alpha1.RolloutConfig{})
			f.Revisions = append(f.Revisions, Revision{"r0", 0})
			f.give("c1", "r2", 60)
			f.object("c2", "a", "r0", 600)
			f.object("c2", "b", "r1", 600)
		}, "update c2/a r1", ""},
		{"late, revision not stored", "it cannot be repaired, and keeps what it has", func(f *fixture) {
			f.place("p", "c1 c2")
			f.progressive(0, clusterv1alpha1.RolloutConfig{})
			f.give("c1", "r2", 60)
			f.give("c2", "gone", 60)
			f.object("c2", "a", "gone", 60)
		}, "", ""},
		{"joins", "with the current revision until its step", func(f *fixture) {
			f.place("p", "c1 c2")
			f.progressive(0, clusterv1alpha1.RolloutConfig{})
			f.give("c1", "r2", 60)
		}, "create c2/a r1, create c2/b r1", ""},
		{"joins, first rollout", "there is no current revision", func(f *fixture) {
			f.place("p", "c1 c2")
			f.progressive(0, clusterv1alpha1.RolloutConfig{})
			f.give("c1", "r2", 60)
			f.Set.Status.CurrentRevision = ""
		}, "", ""},
		{"joins when all is rolled out", "one after the other", func(f *fixture) {
			f.place("p", "c1 c2 c3")
			f.progressive(0, clusterv1alpha1.RolloutConfig{})
			f.synced("c1", "r2", 60)
			f.Set.Status.CurrentRevision = "r2"
		}, "create c2/a r2, create c2/b r2", ""},
		{"rollback", "the former content is a revision like any other", func(f *fixture) {
			f.place("p", "c1 c2")
			f.Revisions = []Revision{{"r1", 3}, {"r2", 2}}
			f.Desired = "r1"
			f.synced("c1", "r2", 60)
			f.synced("c2", "r1", 600)
		}, "update c1/a r1, update c1/b r1", ""},
		{"a new revision", "it is stored first, and written by the next plan", func(f *fixture) {
			f.place("p", "c1")
			f.synced("c1", "r2", 60)
			f.Desired = "r3"
		}, "", resolved + "RolledOut=False/Progressing" + fine},
		{"a new revision, during a rollout", "no further cluster gets what is replaced, also when a pause ends at the same time", func(f *fixture) {
			f.place("p", "c1 c2 c3")
			f.synced("c1", "r2", 60)
			f.synced("c2", "r1", 600)
			f.Desired = "r3"
		}, "create c3/a r1, create c3/b r1", resolved + "RolledOut=False/Progressing" + fine},
		{"no sources", "the clusters keep their revision, and one that joins gets the current one", func(f *fixture) {
			f.place("p", "c1 c2")
			f.synced("c1", "r1", 600)
			f.Desired, f.SourceProblem = "", "ConfigMap a does not exist"
		}, "create c2/a r1, create c2/b r1", resolved + "RolledOut=False/SourcesInvalid Degraded=True/SourcesInvalid"},
		{"nothing stored", "nothing to write", func(f *fixture) { f.place("p", "c1"); f.Revisions = nil }, "", resolved + "RolledOut=False/Progressing" + fine},

		// Steps
		{"progressive", "one at a time", func(f *fixture) {
			f.place("p", "c1 c2")
			f.progressive(0, clusterv1alpha1.RolloutConfig{})
			f.synced("c1 c2", "r1", 60)
		}, "update c1/a r2, update c1/b r2", ""},
		{"progressive, not reported", "a success is a report", func(f *fixture) {
			f.place("p", "c1 c2")
			f.progressive(0, clusterv1alpha1.RolloutConfig{})
			f.give("c1", "r2", 60)
			f.synced("c2", "r1", 600)
		}, "", ""},
		{"progressive, reported in part", "of all ConfigMaps", func(f *fixture) {
			f.place("p", "c1 c2")
			f.progressive(0, clusterv1alpha1.RolloutConfig{})
			f.synced("c1", "r2", 60)
			f.Reports["c1"] = f.Reports["c1"][:1]
			f.synced("c2", "r1", 600)
		}, "", ""},
		{"progressive, former report", "a report about another revision is nothing", func(f *fixture) {
			f.place("p", "c1 c2")
			f.progressive(0, clusterv1alpha1.RolloutConfig{})
			f.give("c1", "r2", 60)
			f.report("c1", "r1", v1alpha1.MirrorSynced, 600)
			f.synced("c2", "r1", 600)
		}, "", ""},
		{"progressive, another ConfigMap's report", "only those of the revision count", func(f *fixture) {
			f.place("p", "c1 c2")
			f.progressive(0, clusterv1alpha1.RolloutConfig{})
			f.report("c1", "r2", v1alpha1.MirrorFailed, 60)
			f.names["r2"] = []string{"a"}
			f.Reports["c1"][0].State = v1alpha1.MirrorSynced
			f.give("c1", "r2", 60)
			f.object("c2", "a", "r1", 60)
		}, "update c2/a r2", ""},
		{"progressive, another set's revision", "only the set's objects tell what a cluster has", func(f *fixture) {
			f.place("p", "c1 c2")
			f.progressive(0, clusterv1alpha1.RolloutConfig{})
			f.give("c1", "r2", 60)
			f.give("c2", "r1", 60)
			f.object("c2", "c", "r2", 60).Set = "other/settings"
		}, "", ""},
		{"progressive, reported", "the next one", func(f *fixture) {
			f.place("p", "c1 c2")
			f.progressive(0, clusterv1alpha1.RolloutConfig{})
			f.synced("c1", "r2", 60)
			f.synced("c2", "r1", 600)
		}, "update c2/a r2, update c2/b r2", ""},
		{"progressive, soaks since it was given", "a report's time from an earlier time with the revision is not a soak", func(f *fixture) {
			f.place("p", "c1 c2")
			f.progressive(0, clusterv1alpha1.RolloutConfig{MinSuccessTime: metav1.Duration{Duration: time.Minute}})
			f.give("c1", "r2", 30)
			f.report("c1", "r2", v1alpha1.MirrorSynced, 900)
			f.synced("c2", "r1", 600)
		}, "", ""},
		{"progressive, soaks since the report", "the latest", func(f *fixture) {
			f.place("p", "c1 c2")
			f.progressive(0, clusterv1alpha1.RolloutConfig{MinSuccessTime: metav1.Duration{Duration: time.Minute}})
			f.synced("c1", "r2", 90)
			f.Reports["c1"][1].Since = metav1.NewTime(now.Add(-30 * time.Second))
			f.synced("c2", "r1", 600)
		}, "", ""},
		{"progressive, timed out", "stops", func(f *fixture) {
			f.place("p", "c1 c2")
			f.progressive(0, clusterv1alpha1.RolloutConfig{ProgressDeadline: "60s"})
			f.give("c1", "r2", 60)
			f.synced("c2", "r1", 600)
		}, "", resolved + "RolledOut=False/Stopped Degraded=True/Stopped"},
		{"progressive, timed out, tolerated", "goes on", func(f *fixture) {
			f.place("p", "c1 c2")
			f.progressive(1, clusterv1alpha1.RolloutConfig{ProgressDeadline: "60s"})
			f.give("c1", "r2", 60)
			f.synced("c2", "r1", 600)
		}, "update c2/a r2, update c2/b r2", ""},
		{"a new revision during a rollout", "the new one starts, what is in progress with the old one is not", func(f *fixture) {
			f.place("p", "c1 c2 c3")
			f.progressive(0, clusterv1alpha1.RolloutConfig{})
			f.give("c1", "r1", 60)
			f.report("c1", "r1", v1alpha1.MirrorFailed, 60)
			f.synced("c2 c3", "r0", 600)
			f.Revisions = append(f.Revisions, Revision{"r0", 0})
		}, "update c1/a r2, update c1/b r2", ""},
		{"failed", "the agent's reason", func(f *fixture) {
			f.place("p", "c1 c2")
			f.progressive(0, clusterv1alpha1.RolloutConfig{})
			f.give("c1", "r2", 60)
			f.report("c1", "r2", v1alpha1.MirrorConflict, 60)
			f.synced("c2", "r1", 600)
		}, "", resolved + "RolledOut=False/Stopped Degraded=True/Stopped"},
		{"all failed", "every cluster had its turn", func(f *fixture) {
			f.place("p", "c1")
			f.give("c1", "r2", 60)
			f.report("c1", "r2", v1alpha1.MirrorContested, 60)
		}, "", resolved + "RolledOut=False/ClustersFailed Degraded=True/ClustersFailed"},
		{"strategy invalid", "nothing starts, repairs go on", func(f *fixture) {
			f.place("p", "c1 c2")
			f.progressive(0, clusterv1alpha1.RolloutConfig{ProgressDeadline: "soon"})
			f.synced("c1", "r2", 60)
			f.Objects[0].Content = "changed"
			f.synced("c2", "r1", 600)
		}, "update c1/a r2", resolved + "RolledOut=False/StrategyInvalid Degraded=True/StrategyInvalid"},
		{"paused when all was rolled out", "a deleted ConfigMap comes back, and a cluster that joins gets it: no other revision", func(f *fixture) {
			f.place("p", "c1 c2 c3")
			f.Set.Spec.Paused = true
			f.Set.Status.CurrentRevision = "r2"
			f.synced("c1", "r2", 60)
			f.give("c2", "r2", 60)
			f.Objects = f.Objects[:len(f.Objects)-1]
		}, "create c2/b r2, create c3/a r2, create c3/b r2", resolved + "RolledOut=False/Paused" + fine},
		{"stopped when all was rolled out", "a deleted ConfigMap comes back, and a cluster that joins gets it", func(f *fixture) {
			f.place("p", "c1 c2 c3")
			f.progressive(0, clusterv1alpha1.RolloutConfig{})
			f.Set.Status.CurrentRevision = "r2"
			f.give("c1", "r2", 60)
			f.report("c1", "r2", v1alpha1.MirrorConflict, 60)
		}, "create c2/a r2, create c2/b r2, create c3/a r2, create c3/b r2", resolved + "RolledOut=False/Stopped Degraded=True/Stopped"},
		{"paused", "no step, but repairs, and the current revision for those that join", func(f *fixture) {
			f.place("p", "c1 c2 c3")
			f.Set.Spec.Paused = true
			f.synced("c1", "r1", 60)
			f.synced("c2", "r2", 60)
			f.Objects[3].Content = "changed"
		}, "update c2/b r2, create c3/a r1, create c3/b r1", resolved + "RolledOut=False/Paused" + fine},
		{"first of two", "a cluster belongs to the first Placement", func(f *fixture) {
			f.place("p", "c1 c2")
			f.place("q", "c1 c2 c3")
			f.progressive(0, clusterv1alpha1.RolloutConfig{})
			f.synced("c1 c2 c3", "r1", 60)
		}, "update c1/a r2, update c1/b r2, update c3/a r2, update c3/b r2", ""},

		// Clusters that cannot get it
		{"no add-on", "nothing is written there", func(f *fixture) {
			f.place("p", "c1 c2")
			f.disabled = []string{"c1"}
			f.progressive(0, clusterv1alpha1.RolloutConfig{})
		}, "create c2/a r2, create c2/b r2", ""},
		{"no add-on, all others done", "it does not count", func(f *fixture) {
			f.place("p", "c1 c2")
			f.disabled = []string{"c1"}
			f.give("c1", "r1", 600)
			f.synced("c2", "r2", 60)
		}, "", resolved + "RolledOut=True/RolledOut" + fine},
		{"label missing", "known before the first step", func(f *fixture) {
			f.place("p", "c1 c2 c3")
			f.progressive(0, clusterv1alpha1.RolloutConfig{})
			f.problems["c3/r2"] = "label region is missing"
			f.synced("c1 c2 c3", "r1", 60)
		}, "", resolved + "RolledOut=False/Stopped Degraded=True/Stopped"},
		{"label missing, tolerated", "nothing waits for it", func(f *fixture) {
			f.place("p", "c1 c2 c3")
			f.progressive(1, clusterv1alpha1.RolloutConfig{})
			f.problems["c1/r2"] = "label region is missing"
			f.synced("c1 c2 c3", "r1", 60)
		}, "update c2/a r2, update c2/b r2", resolved + "RolledOut=False/Progressing Degraded=True/ClustersFailed"},
		{"empty revision", "no reason to delete everything", func(f *fixture) { f.place("p", "c1"); f.synced("c1", "r2", 60); f.names["r2"] = nil }, "",
			resolved + "RolledOut=False/ClustersFailed Degraded=True/ClustersFailed"},
		{"conflict", "nothing of the revision is written", func(f *fixture) {
			f.place("p", "c1 c2")
			f.object("c1", "b", "", 0).ManagedBy = ""
		}, "create c2/a r2, create c2/b r2", resolved + "RolledOut=False/Progressing Degraded=True/ClustersFailed"},
		{"another set's", "all marks have to be right", func(f *fixture) {
			f.place("p", "c1 c2 c3")
			f.object("c1", "a", "r1", 0).SetUID = "former"
			f.object("c2", "a", "r1", 0).Set = "other/settings"
		}, "create c3/a r2, create c3/b r2", ""},
		{"being deleted", "it cannot be written until it is gone", func(f *fixture) {
			f.place("p", "c1")
			f.synced("c1", "r1", 60)
			f.Objects[0].Deleting = true
		}, "", resolved + "RolledOut=False/ClustersFailed Degraded=True/ClustersFailed"},
		{"refused", "it is tried again, as failed", func(f *fixture) {
			f.place("p", "c1 c2")
			f.progressive(0, clusterv1alpha1.RolloutConfig{})
			f.refuse("c1", "r2", 60)
			f.synced("c2", "r1", 60)
		}, "create c1/a r2, create c1/b r2", resolved + "RolledOut=False/Stopped Degraded=True/Stopped"},
		{"refused with a former revision", "says nothing about this one", func(f *fixture) {
			f.place("p", "c1")
			f.refuse("c1", "r1", 60)
		}, "create c1/a r2, create c1/b r2", resolved + "RolledOut=False/Progressing" + fine},
		{"an older set's", "the older one has it: delete, and create nothing", func(f *fixture) {
			f.place("p", "c1 c2")
			f.synced("c1 c2", "r2", 60)
			f.claims["c1/b"] = "other/settings"
		}, "delete c1/b", resolved + "RolledOut=False/ClustersFailed Degraded=True/ClustersFailed"},
		{"an older set's, orphan", "an object without an owner would be in its way", func(f *fixture) {
			f.place("p", "c1 c2")
			f.Set.Spec.DeletionPolicy = v1alpha1.DeletionOrphan
			f.synced("c1 c2", "r2", 60)
			f.claims["c1/b"] = "other/settings"
		}, "delete c1/b", ""},
		{"an older set's, not wanted any more", "deleted once", func(f *fixture) {
			f.place("p", "c1 c2")
			f.names["r2"] = []string{"a"}
			f.synced("c1 c2", "r1", 60)
			f.claims["c1/b"] = "other/settings"
		}, "update c1/a r2, delete c1/b, update c2/a r2, delete c2/b", ""},

		// Removals
		{"leaves", "its copy is deleted", func(f *fixture) { f.place("p", "c1"); f.synced("c1 c2", "r2", 60) }, "delete c2/a, delete c2/b", resolved + "RolledOut=True/RolledOut" + fine},
		{"leaves, orphan", "its copy is released", func(f *fixture) {
			f.place("p", "c1")
			f.synced("c1 c2", "r2", 60)
			f.Set.Spec.DeletionPolicy = v1alpha1.DeletionOrphan
		}, "release c2/a, release c2/b", ""},
		{"leaves, another owner's", "left alone", func(f *fixture) {
			f.place("p", "c1")
			f.synced("c1 c2", "r2", 60)
			f.Objects[2].SetUID = "former"
		}, "delete c2/b", ""},
		{"three of four leave", "is ordinary work", func(f *fixture) { f.place("p", "c1"); f.synced("c1 c2 c3 c4", "r2", 60) },
			"delete c2/a, delete c2/b, delete c3/a, delete c3/b, delete c4/a, delete c4/b", ""},
		{"four of eight leave", "is not more than half", func(f *fixture) {
			f.place("p", "c1 c2 c3 c4")
			f.names["r2"] = []string{"a"}
			f.synced("c1 c2 c3 c4 c5 c6 c7 c8", "r2", 60)
		},
			"delete c5/a, delete c6/a, delete c7/a, delete c8/a", ""},
		{"four of seven leave", "is held", func(f *fixture) { f.place("p", "c1 c2 c3"); f.synced("c1 c2 c3 c4 c5 c6 c7", "r2", 60) }, "",
			resolved + "RolledOut=True/RolledOut Degraded=True/RemovalsHeld"},
		{"an older set claims four of seven", "is held as well", func(f *fixture) {
			f.place("p", "c1 c2 c3 c4 c5 c6 c7")
			f.synced("c1 c2 c3 c4 c5 c6 c7", "r2", 60)
			for i := range 4 {
				f.claims[fmt.Sprintf("c%d/a", i+1)] = "other/settings"
			}
		}, "", resolved + "RolledOut=False/ClustersFailed Degraded=True/RemovalsHeld"},
		{"placement emptied", "is held, however few", func(f *fixture) { f.place("p", ""); f.synced("c1", "r2", 60) }, "", resolved + "RolledOut=True/RolledOut Degraded=True/RemovalsHeld"},
		{"one of two placements emptied", "is held", func(f *fixture) { f.place("p", "c1 c2 c3 c4"); f.place("q", ""); f.synced("c1 c2 c3 c4 c5", "r2", 60) }, "", ""},
		{"leaves, one of two placements has only clusters of the first", "is ordinary work", func(f *fixture) {
			f.place("p", "c1 c2")
			f.place("q", "c2")
			f.synced("c1 c2 c3", "r2", 60)
		}, "delete c3/a, delete c3/b", ""},
		{"placement gone", "is held, however few", func(f *fixture) {
			f.place("p", "")
			f.Placements["p"] = Placement{Gone: true}
			f.synced("c1", "r2", 60)
		}, "", "PlacementsResolved=False/PlacementNotFound RolledOut=Unknown/PlacementsNotResolved Degraded=True/RemovalsHeld"},
		{"held for nine minutes", "not yet", func(f *fixture) { f.place("p", ""); f.synced("c1", "r2", 60); f.holding(9) }, "", ""},
		{"held for ten minutes", "then deleted", func(f *fixture) { f.place("p", ""); f.synced("c1", "r2", 60); f.holding(10) }, "delete c1/a, delete c1/b", resolved + "RolledOut=True/RolledOut" + fine},
		{"held, others leave", "the hold begins anew", func(f *fixture) { f.place("p", ""); f.synced("c1", "r2", 60); f.holding(10); f.synced("c2", "r2", 60) }, "", ""},
		{"held for one ConfigMap, then the cluster leaves", "the hold begins anew", func(f *fixture) {
			f.place("p", "c1")
			f.place("q", "")
			f.synced("c1", "r2", 60)
			f.claims["c1/b"] = "other/settings"
			f.holding(10)
			f.place("p", "")
		}, "", ""},
		{"released", "deleted at once", func(f *fixture) {
			f.place("p", "")
			f.synced("c1", "r2", 60)
			f.holding(1)
			f.Set.Annotations[manifests.ReleaseAnnotation] = f.Set.Status.HeldRemovals.ID
		}, "delete c1/a, delete c1/b", ""},
		{"released before", "a release is of one hold", func(f *fixture) {
			f.place("p", "")
			f.synced("c1", "r2", 60)
			f.holding(30)
			f.Set.Annotations[manifests.ReleaseAnnotation] = f.Set.Status.HeldRemovals.ID
			f.Set.Status.HeldRemovals = nil
			f.holding(1)
		}, "", ""},
		{"not readable", "nothing is removed", func(f *fixture) {
			f.place("p", "c1")
			f.place("q", "c2")
			f.Placements["q"] = Placement{Problem: "forbidden"}
			f.synced("c1 c2 c3", "r2", 60)
		}, "", "PlacementsResolved=False/PlacementNotReadable RolledOut=Unknown/PlacementsNotResolved" + fine},
		{"not readable, another after it", "nothing starts there, because its clusters may be among them", func(f *fixture) {
			f.place("p", "")
			f.place("q", "c1 c2")
			delete(f.Placements, "p")
			f.synced("c1", "r1", 60)
			f.give("c2", "r2", 60)
			f.Objects[0].Content = "changed"
		}, "update c1/a r1", ""},
		{"removal refused", "is reported", func(f *fixture) { f.place("p", "c1"); f.synced("c1 c2", "r2", 60); f.refuse("c2", "", 60) }, "delete c2/a, delete c2/b",
			resolved + "RolledOut=True/RolledOut Degraded=True/RemovalsRefused"},

		// Deletion of the set
		{"deleted", "at once, without reading a Placement", func(f *fixture) {
			f.place("p", "c1")
			delete(f.Placements, "p")
			f.names["r2"] = []string{"a"}
			f.synced("c1 c2 c3 c4 c5", "r2", 60)
			f.Set.DeletionTimestamp = &metav1.Time{Time: now}
			f.Objects[1].SetUID = "former"
		}, "delete c1/a, delete c3/a, delete c4/a, delete c5/a", ""},
		{"deleted, orphan", "released", func(f *fixture) {
			f.Set.Spec.DeletionPolicy = v1alpha1.DeletionOrphan
			f.synced("c1", "r2", 60)
			f.Set.DeletionTimestamp = &metav1.Time{Time: now}
		}, "release c1/a, release c1/b", ""},
		{"deleted, without finalizer", "is not ours any more", func(f *fixture) {
			f.synced("c1", "r2", 60)
			f.Set.Finalizers = nil
			f.Set.DeletionTimestamp = &metav1.Time{Time: now}
		}, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture()
			test.change(f)
			got := Plan(f.Inputs)
			if diff := cmp.Diff(test.writes, written(got.Writes)); diff != "" {
				t.Errorf("%s: writes (-want +got):\n%s", test.reason, diff)
			}
			if test.status != "" && test.status != "none" {
				if diff := cmp.Diff(test.status, conditions(got.Status)); diff != "" {
					t.Errorf("%s: conditions (-want +got):\n%s", test.reason, diff)
				}
			}
			if got.AddFinalizer != (test.name == "no finalizer") {
				t.Errorf("AddFinalizer is %v", got.AddFinalizer)
			}
		})
	}
}
