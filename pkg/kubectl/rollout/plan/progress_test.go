package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
)

const (
	yes     = metav1.ConditionTrue
	no      = metav1.ConditionFalse
	unknown = metav1.ConditionUnknown

	rolledOut = v1alpha1.ConditionRolledOut
	isBad     = v1alpha1.ConditionDegraded
)

func TestJudge(t *testing.T) {
	type set = *v1alpha1.ConfigMapReplicaSet
	group := func(updated, failed, timedOut int32) v1alpha1.GroupStatus {
		return v1alpha1.GroupStatus{Summary: v1alpha1.Summary{Total: 10, Updated: updated, Failed: failed, TimedOut: timedOut}}
	}
	for _, test := range []struct {
		name, reason string
		status       func(set)
		want         Progress
	}{
		{"new", "there is no status yet", func(s set) { s.Status = v1alpha1.ConfigMapReplicaSetStatus{} },
			Progress{State: Waiting, Message: `Waiting for rollout of configmapreplicaset "settings": the controller has not seen generation 2 of its spec yet`}},
		{"stale success", "the status is about the former spec", func(s set) {
			condition(s, rolledOut, yes, "RolledOut", "3 of 3 clusters have revision r1 synced")
			s.Generation = 3
		}, Progress{State: Waiting, Message: `Waiting for rollout of configmapreplicaset "settings": the controller has not seen generation 3 of its spec yet`}},
		{"stale condition", "the condition alone is about the former spec", func(s set) {
			condition(s, rolledOut, yes, "RolledOut", "3 of 3 clusters have revision r1 synced")
			s.Generation, s.Status.ObservedGeneration = 3, 3
		}, Progress{State: Waiting, Message: `Waiting for rollout of configmapreplicaset "settings": the controller has not seen generation 3 of its spec yet`}},
		{"no condition", "nothing is reported yet", func(set) {},
			Progress{State: Waiting, Message: `Waiting for rollout of configmapreplicaset "settings": the controller has not seen generation 2 of its spec yet`}},
		{"done", "RolledOut is True", func(s set) {
			condition(s, rolledOut, yes, "RolledOut", "3 of 3 clusters have revision r1 synced")
			condition(s, isBad, no, "AsExpected", "nothing needs attention")
		}, Progress{State: Done, Message: `configmapreplicaset "settings" successfully rolled out: 3 of 3 clusters have revision r1 synced`}},
		{"being deleted", "its clusters lose what they have", func(s set) {
			condition(s, rolledOut, yes, "RolledOut", "3 of 3 clusters have revision r1 synced")
			s.DeletionTimestamp = &metav1.Time{Time: start}
		}, Progress{State: Waiting, Message: `Waiting for rollout of configmapreplicaset "settings": it is being deleted`}},
		{"done, degraded", "removals that are held do not concern the rollout, but need a person", func(s set) {
			condition(s, rolledOut, yes, "RolledOut", "3 of 3 clusters have revision r1 synced")
			condition(s, isBad, yes, "RemovalsHeld", "holding the removal from 4 clusters")
		}, Progress{State: Done, Message: `configmapreplicaset "settings" successfully rolled out: 3 of 3 clusters have revision r1 synced`,
			Warning: "RemovalsHeld: holding the removal from 4 clusters"}},
		{"done on no cluster", "the Placements may be wrong", func(s set) {
			s.Status.Summary = v1alpha1.Summary{}
			condition(s, rolledOut, yes, "RolledOut", "0 of 0 clusters have revision r1 synced")
		}, Progress{State: Done, Message: `configmapreplicaset "settings" successfully rolled out: 0 of 0 clusters have revision r1 synced`,
			Warning: "no cluster has it: the Placements select none"}},
		{"done, one without the add-on", "it is selected and gets nothing", func(s set) {
			s.Status.Summary.Synced = 2
			condition(s, rolledOut, yes, "RolledOut", "2 of 2 clusters have revision r1 synced; the add-on is not enabled on cluster3")
		}, Progress{State: Done, Message: `configmapreplicaset "settings" successfully rolled out: 2 of 2 clusters have revision r1 synced; the add-on is not enabled on cluster3`,
			Warning: "1 of 3 selected clusters do not have it: the add-on is not enabled there"}},
		{"done, without the add-on, degraded", "both warn", func(s set) {
			s.Status.Summary.Synced = 0
			condition(s, rolledOut, yes, "RolledOut", "0 of 0")
			condition(s, isBad, yes, "RemovalsHeld", "holding")
		}, Progress{State: Done, Message: `configmapreplicaset "settings" successfully rolled out: 0 of 0`,
			Warning: "3 of 3 selected clusters do not have it: the add-on is not enabled there; RemovalsHeld: holding"}},
		{"stopped", "Degraded names the clusters", func(s set) {
			condition(s, rolledOut, no, "Stopped", "0 of 3 clusters have revision r2 synced; the rollout to Placement fleet stopped: 1 failed")
			condition(s, isBad, yes, "Stopped", "the rollout to Placement fleet stopped: 1 failed; failed: cluster1 (no label zone)")
		}, Progress{State: Failed, Message: `configmapreplicaset "settings" is not rolled out: Stopped: the rollout to Placement fleet stopped: 1 failed; failed: cluster1 (no label zone)`}},
		{"stopped, not degraded", "the reason of RolledOut decides", func(s set) { condition(s, rolledOut, no, "Stopped", "0 of 3") },
			Progress{State: Failed, Message: `configmapreplicaset "settings" is not rolled out: Stopped: 0 of 3`}},
		{"clusters failed", "every cluster had its turn", func(s set) { condition(s, rolledOut, no, "ClustersFailed", "2 of 3") },
			Progress{State: Failed, Message: `configmapreplicaset "settings" is not rolled out: ClustersFailed: 2 of 3`}},
		{"sources invalid", "the controller waits for other sources", func(s set) { condition(s, rolledOut, no, "SourcesInvalid", "gone") },
			Progress{State: Failed, Message: `configmapreplicaset "settings" is not rolled out: SourcesInvalid: gone`}},
		{"strategy invalid", "the controller waits for another strategy", func(s set) { condition(s, rolledOut, no, "StrategyInvalid", "bad") },
			Progress{State: Failed, Message: `configmapreplicaset "settings" is not rolled out: StrategyInvalid: bad`}},
		{"placements not resolved", "OCM may decide in a moment", func(s set) { condition(s, rolledOut, unknown, "PlacementsNotResolved", "0 of 0") },
			Progress{State: Waiting, Message: `Waiting for rollout of configmapreplicaset "settings": 0 of 0`}},
		{"placements not resolved, sources invalid", "Degraded reports it", func(s set) {
			condition(s, rolledOut, unknown, "PlacementsNotResolved", "0 of 0")
			condition(s, isBad, yes, "SourcesInvalid", "gone")
		}, Progress{State: Failed, Message: `configmapreplicaset "settings" is not rolled out: SourcesInvalid: gone`}},
		{"placements not resolved, strategy invalid", "Degraded reports it", func(s set) {
			condition(s, rolledOut, unknown, "PlacementsNotResolved", "0 of 0")
			condition(s, isBad, yes, "StrategyInvalid", "bad")
		}, Progress{State: Failed, Message: `configmapreplicaset "settings" is not rolled out: StrategyInvalid: bad`}},
		{"placements not resolved, strategy was invalid", "Degraded is about the former spec", func(s set) {
			condition(s, isBad, yes, "StrategyInvalid", "bad")
			s.Generation = 3
			condition(s, rolledOut, unknown, "PlacementsNotResolved", "0 of 0")
		}, Progress{State: Waiting, Message: `Waiting for rollout of configmapreplicaset "settings": 0 of 0`}},
		{"placements not resolved, removals held", "the rollout may continue", func(s set) {
			condition(s, rolledOut, unknown, "PlacementsNotResolved", "0 of 0")
			condition(s, isBad, yes, "RemovalsHeld", "holding")
		}, Progress{State: Waiting, Message: `Waiting for rollout of configmapreplicaset "settings": 0 of 0`}},
		{"progressing", "the counts and the groups show how far it is", func(s set) {
			s.Status.UpdatedRevision = "r2"
			s.Status.Summary = v1alpha1.Summary{Total: 40, Updated: 14, Synced: 12, Failed: 1, TimedOut: 2}
			s.Status.Placements = []v1alpha1.PlacementStatus{{Groups: []v1alpha1.GroupStatus{group(4, 0, 0), group(0, 1, 0)}},
				{Groups: []v1alpha1.GroupStatus{group(0, 0, 2), group(0, 0, 0)}}}
			condition(s, rolledOut, no, "Progressing", "12 of 40 clusters have revision r2 synced")
		}, Progress{State: Waiting, Message: `Waiting for rollout of configmapreplicaset "settings": 12 of 40 clusters have revision r2 synced, ` +
			`14 updated, 1 failed, 2 timed out, 3 of 4 groups begun`}},
		{"one group", "there are no steps to show", func(s set) {
			s.Status.UpdatedRevision = "r2"
			s.Status.Placements = []v1alpha1.PlacementStatus{{Groups: []v1alpha1.GroupStatus{group(4, 0, 0)}}}
			condition(s, rolledOut, no, "Progressing", "0 of 10 clusters have revision r2 synced")
		}, Progress{State: Waiting, Message: `Waiting for rollout of configmapreplicaset "settings": 0 of 10 clusters have revision r2 synced, 0 updated`}},
		{"100 groups", "the status counts no more, so the number is not known", func(s set) {
			s.Status.UpdatedRevision = "r2"
			s.Status.Placements = []v1alpha1.PlacementStatus{{Groups: make([]v1alpha1.GroupStatus, 100)}}
			condition(s, rolledOut, no, "Progressing", "0 of 10 clusters have revision r2 synced")
		}, Progress{State: Waiting, Message: `Waiting for rollout of configmapreplicaset "settings": 0 of 10 clusters have revision r2 synced, 0 updated`}},
		{"being stored", "the counts are of the former revision", func(s set) {
			s.Status.UpdatedRevision, s.Status.Summary.Updated = "r1", 40
			condition(s, rolledOut, no, "Progressing", "revision r2 is being stored")
		}, Progress{State: Waiting, Message: `Waiting for rollout of configmapreplicaset "settings": revision r2 is being stored`}},
		{"paused", "another person may resume it", func(s set) {
			s.Spec.Paused, s.Status.UpdatedRevision = true, "r2"
			condition(s, rolledOut, no, "Paused", "0 of 3 clusters have revision r2 synced")
		}, Progress{State: Waiting, Message: `Waiting for rollout of configmapreplicaset "settings": 0 of 3 clusters have revision r2 synced, 0 updated, paused`}},
		{"control characters", "a managed cluster's message must not write to the terminal", func(s set) { condition(s, rolledOut, no, "Stopped", "a\x1b[2Jb\nc\u202ed") },
			Progress{State: Failed, Message: `configmapreplicaset "settings" is not rolled out: Stopped: a [2Jb c d`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSet("settings")
			test.status(s)
			if diff := cmp.Diff(test.want, Judge(s)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// TestConfirm: what the status reports counts only if it is about the sources of now.
func TestConfirm(t *testing.T) {
	const updated = "r2"
	for _, test := range []struct {
		name, reason string
		status       metav1.ConditionStatus
		why          string
		present      Present
		want         State
		message      string
	}{
		{"done", "the sources make the revision that was rolled out", yes, "RolledOut", Present{Revision: updated}, Done, ""},
		{"done, other content", "the controller has not seen the change of a source", yes, "RolledOut", Present{Revision: "r3"}, Waiting,
			`Waiting for rollout of configmapreplicaset "settings": the controller has not seen revision r3 of its sources yet`},
		{"done, source gone", "the controller has not seen the deletion", yes, "RolledOut", Present{Problem: "ConfigMap a/b does not exist"}, Waiting,
			`Waiting for rollout of configmapreplicaset "settings": the controller has not seen yet that ConfigMap a/b does not exist`},
		{"stopped", "it is about the sources of now", no, "Stopped", Present{Revision: updated}, Failed, ""},
		{"stopped, other content", "the source was corrected a moment ago", no, "Stopped", Present{Revision: "r3"}, Waiting,
			`Waiting for rollout of configmapreplicaset "settings": the controller has not seen revision r3 of its sources yet`},
		{"invalid", "they are", no, "SourcesInvalid", Present{Problem: "gone"}, Failed, ""},
		{"invalid, corrected", "the controller has not seen the correction", no, "SourcesInvalid", Present{Revision: "r3"}, Waiting,
			`Waiting for rollout of configmapreplicaset "settings": the controller has not seen yet that its sources are valid`},
		{"invalid, taken back", "the same with the content of before", no, "SourcesInvalid", Present{Revision: updated}, Waiting,
			`Waiting for rollout of configmapreplicaset "settings": the controller has not seen yet that its sources are valid`},
		{"invalid, not resolved", "they are", unknown, "PlacementsNotResolved", Present{Problem: "gone"}, Failed, ""},
		{"invalid, not resolved, corrected", "the controller has not seen the correction", unknown, "PlacementsNotResolved", Present{Revision: "r3"}, Waiting,
			`Waiting for rollout of configmapreplicaset "settings": the controller has not seen yet that its sources are valid`},
		{"progressing", "it waits in any case", no, "Progressing", Present{Revision: "r3"}, Waiting,
			`Waiting for rollout of configmapreplicaset "settings": as it is`},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := newSet("settings")
			set.Status.UpdatedRevision = updated
			condition(set, rolledOut, test.status, test.why, "as it is")
			if test.status == unknown {
				condition(set, isBad, yes, "SourcesInvalid", "gone")
			}
			judged := Judge(set)
			want := Progress{State: test.want, Message: test.message}
			if test.message == "" {
				want.Message = judged.Message
			}
			if diff := cmp.Diff(want, Confirm(judged, set, test.present)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestNewPresent(t *testing.T) {
	set := newSet("settings", "limits")
	a, b := newSource("settings", map[string]string{"level": "$(LEVEL)"}), newSource("limits", map[string]string{"cpu": "1"})
	if got, want := NewPresent(set, sourcesOf(a)).Problem, "ConfigMap team-a/limits does not exist"; got != want {
		t.Errorf("a source does not exist: got %q, want %q", got, want)
	}
	if got, want := NewPresent(set, sourcesOf(a, b)).Problem, "ConfigMap settings, key level: $(LEVEL) has no value: add it to spec.values, "+
		"or write $$(LEVEL) for the text"; got != want {
		t.Errorf("the controller does not store what does not compile: got %q, want %q", got, want)
	}
	set.Spec.Values = []v1alpha1.Value{{Name: "LEVEL", Label: "level"}}
	_, hash := stored(t, set, 1, revisionOf(set.Spec.Values, b, a))
	if diff := cmp.Diff(Present{Revision: hash}, NewPresent(set, sourcesOf(a, b))); diff != "" {
		t.Errorf("the hash is the controller's (-want +got):\n%s", diff)
	}
}
