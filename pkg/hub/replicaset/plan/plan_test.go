package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
)

// TestWriteFields checks what a write carries.
func TestWriteFields(t *testing.T) {
	f := newFixture()
	f.place("p", "c1 c2 c3")
	f.synced("c1", "r1", 60)
	f.synced("c2", "r2", 90)
	f.Objects[3].Content = "changed"
	f.refuse("c3", "r2", 60)
	f.refuse("c3", "r2", 120)
	f.refuse("c3", "r2", 90)
	f.names["r2"] = []string{"b"}
	f.Now = now.Add(300 * time.Millisecond)
	want := []Write{
		{Action: Update, Cluster: "c1", Name: "b", UID: "u", ResourceVersion: "1", Revision: "r2", Since: now, Content: "r2b"},
		{Action: Delete, Cluster: "c1", Name: "a", UID: "u", ResourceVersion: "1"},
		{Action: Update, Cluster: "c2", Name: "b", UID: "u", ResourceVersion: "1", Revision: "r2", Since: now.Add(-90 * time.Second), Content: "r2b"},
		{Action: Delete, Cluster: "c2", Name: "a", UID: "u", ResourceVersion: "1"},
		{Action: Create, Cluster: "c3", Name: "b", Revision: "r2", Since: now.Add(-120 * time.Second), Content: "r2b"},
	}
	if diff := cmp.Diff(want, Plan(f.Inputs).Writes); diff != "" {
		t.Errorf("the time of a revision is that of the write in seconds, stays with the revision, and begins with the first refusal (-want +got):\n%s", diff)
	}
}

func TestStatus(t *testing.T) {
	f := newFixture()
	f.place("p", "c1 c2|c3 c4")
	f.place("q", "c5 c6 c4")
	f.progressive(3, clusterv1alpha1.RolloutConfig{ProgressDeadline: "60s"})
	f.synced("c1", "r2", 300)
	f.give("c2", "r2", 300)
	f.give("c3", "r2", 300)
	f.report("c3", "r2", v1alpha1.MirrorConflict, 300)
	f.problems["c5"] = "label region is missing"
	f.disabled = []string{"c6"}
	got := Plan(f.Inputs).Status
	want := v1alpha1.ConfigMapReplicaSetStatus{
		ObservedGeneration: 7, CurrentRevision: "r1", UpdatedRevision: "r2",
		Summary: v1alpha1.Summary{Total: 6, Updated: 3, Synced: 1, Failed: 2, TimedOut: 1},
		Placements: []v1alpha1.PlacementStatus{
			{Name: "p", Summary: v1alpha1.Summary{Total: 4, Updated: 3, Synced: 1, Failed: 1, TimedOut: 1}, Groups: []v1alpha1.GroupStatus{
				{Index: 0, Summary: v1alpha1.Summary{Total: 2, Updated: 2, Synced: 1, TimedOut: 1}},
				{Index: 1, Summary: v1alpha1.Summary{Total: 2, Updated: 1, Failed: 1}}}},
			{Name: "q", Summary: v1alpha1.Summary{Total: 2, Failed: 1}, Groups: []v1alpha1.GroupStatus{{Index: 0, Summary: v1alpha1.Summary{Total: 2, Failed: 1}}}},
		},
		Conditions: []metav1.Condition{
			{Type: "PlacementsResolved", Status: "True", Reason: "Resolved", Message: "every Placement is known"},
			{Type: "RolledOut", Status: "False", Reason: "Progressing", Message: "1 of 5 clusters have revision r2 synced; the add-on is not enabled on c6"},
			{Type: "Degraded", Status: "True", Reason: "ClustersFailed",
				Message: "failed: c3 (ConfigMap a is Conflict: of another owner), c5 (label region is missing); timed out: c2"},
		},
	}
	for i := range want.Conditions {
		want.Conditions[i].ObservedGeneration, want.Conditions[i].LastTransitionTime = 7, metav1.NewTime(now)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}

	f.Set.Status = got
	f.Placements["q"] = Placement{Problem: "forbidden"}
	f.Now = now.Add(time.Minute)
	got = Plan(f.Inputs).Status
	if diff := cmp.Diff(want.Placements[1], got.Placements[1]); diff != "" {
		t.Errorf("a Placement that is not readable has the counts that were last known (-want +got):\n%s", diff)
	}
	if message := got.Conditions[0].Message; message != "Placement q is not readable: forbidden" {
		t.Errorf("message %q", message)
	}
	if changed := got.Conditions[2].LastTransitionTime; !changed.Time.Equal(now) {
		t.Errorf("Degraded changed at %v, and nothing changed since %v", changed, now)
	}
}

func TestMessages(t *testing.T) {
	f := newFixture()
	f.place("p", "")
	for i := range 7 {
		f.synced(fmt.Sprintf("c%d", i), "r2", 60)
	}
	got := Plan(f.Inputs)
	want := fmt.Sprintf("holding the removal from 7 clusters until 12:10:00Z: c0, c1, c2, c3, c4 and 2 more. Restore the Placement, or release it: "+
		"kubectl annotate cmrs -n team settings --overwrite helloworld.open-cluster-management.io/release-deletions=%s", got.Status.HeldRemovals.ID)
	if diff := cmp.Diff(want, got.Status.Conditions[2].Message); diff != "" {
		t.Errorf("a hold tells which clusters, until when, and what to do (-want +got):\n%s", diff)
	}
	if held := got.Status.HeldRemovals; held.Clusters != 7 || !held.Since.Time.Equal(now) || len(held.ID) != 8 {
		t.Errorf("held %+v", held)
	}
	if !got.Recheck.Equal(now.Add(testDelay)) {
		t.Errorf("recheck at %v, and the hold ends at %v", got.Recheck, now.Add(testDelay))
	}
	f.SourceProblem = strings.Repeat("é", maxMessage)
	if message := Plan(f.Inputs).Status.Conditions[2].Message; len(message) > maxMessage || !strings.HasSuffix(message, "é …") {
		t.Errorf("a message of %d bytes ends in %q", len(message), message[len(message)-9:])
	}
}

// TestHoldBeginsAnew checks that a hold begins anew when a Placement was not readable in between: another one may have
// selected the clusters again for that time.
func TestHoldBeginsAnew(t *testing.T) {
	f := newFixture()
	f.place("p", "")
	f.synced("c1", "r2", 60)
	for _, step := range []struct {
		minute   int
		readable bool
		writes   string
	}{{0, true, ""}, {5, false, ""}, {6, true, ""}, {12, true, ""}, {16, true, "delete c1/a, delete c1/b"}} {
		f.Now = now.Add(time.Duration(step.minute) * time.Minute)
		f.Placements["p"] = Placement{Readable: step.readable}
		got := Plan(f.Inputs)
		if diff := cmp.Diff(step.writes, written(got.Writes)); diff != "" {
			t.Errorf("minute %d, readable %v (-want +got):\n%s", step.minute, step.readable, diff)
		}
		f.Set.Status = got.Status
	}
}

func TestGroupLimit(t *testing.T) {
	f := newFixture()
	f.place("p", strings.Repeat("|", 149)+"c1")
	got := Plan(f.Inputs).Status.Placements[0]
	if len(got.Groups) != 100 || got.Summary.Total != 1 {
		t.Errorf("%d groups with %d clusters: the CRD allows 100 groups, and all clusters count", len(got.Groups), got.Summary.Total)
	}
}

func TestRecheck(t *testing.T) {
	f := newFixture()
	f.place("p", "c1 c2")
	f.progressive(0, clusterv1alpha1.RolloutConfig{ProgressDeadline: "60s"})
	f.give("c1", "r2", 20)
	f.place("q", "c3")
	f.Set.Spec.PlacementRefs[1].RolloutStrategy = clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.All,
		All: &clusterv1alpha1.RolloutAll{RolloutConfig: clusterv1alpha1.RolloutConfig{ProgressDeadline: "60s"}}}
	f.give("c3", "r2", 10)
	if got := Plan(f.Inputs).Recheck; !got.Equal(now.Add(40 * time.Second)) {
		t.Errorf("recheck at %v: the next step must not wait for a change", got)
	}
}

func TestCurrentRevision(t *testing.T) {
	tests := []struct {
		name   string
		change func(f *fixture)
		want   string
	}{
		{"every cluster was given the updated one", func(f *fixture) { f.give("c1 c2", "r2", 60) }, "r2"},
		{"not every cluster", func(f *fixture) { f.give("c1", "r2", 60) }, "r1"},
		{"one cannot get it", func(f *fixture) { f.give("c1", "r2", 60); f.problems["c2"] = "label region is missing" }, "r2"},
		{"one cannot get it, and stops the rollout", func(f *fixture) {
			f.give("c1", "r2", 60)
			f.problems["c2"] = "label region is missing"
			f.progressive(0, clusterv1alpha1.RolloutConfig{})
		}, "r1"},
		{"none can get it", func(f *fixture) { f.problems["c1"], f.problems["c2"] = "x", "x" }, "r1"},
		{"one has no add-on", func(f *fixture) { f.give("c1", "r2", 60); f.disabled = []string{"c2"} }, "r2"},
		{"a Placement is not readable", func(f *fixture) { f.give("c1 c2", "r2", 60); f.place("q", ""); delete(f.Placements, "q") }, "r1"},
		{"it is not stored any more", func(f *fixture) { f.Set.Status.CurrentRevision = "r0" }, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture()
			f.place("p", "c1 c2")
			test.change(f)
			if got := Plan(f.Inputs).Status.CurrentRevision; got != test.want {
				t.Errorf("current revision %q, want %q", got, test.want)
			}
		})
	}
}

func TestStoreRevision(t *testing.T) {
	f := newFixture()
	f.Desired = "r3"
	if diff := cmp.Diff(&Revision{"r3", 3}, Plan(f.Inputs).StoreRevision); diff != "" {
		t.Errorf("a new revision (-want +got):\n%s", diff)
	}
	f.Desired = "r1"
	if diff := cmp.Diff(&Revision{"r1", 3}, Plan(f.Inputs).StoreRevision); diff != "" {
		t.Errorf("a former revision gets a higher number (-want +got):\n%s", diff)
	}
	f.Revisions = nil
	if diff := cmp.Diff(&Revision{"r1", 1}, Plan(f.Inputs).StoreRevision); diff != "" {
		t.Errorf("the first revision (-want +got):\n%s", diff)
	}
}

func TestHistory(t *testing.T) {
	f := newFixture()
	f.place("p", "c1")
	f.give("c1", "r7", 60)
	f.object("c1", "a", "r7", 60)
	for i := range 9 {
		f.Revisions = append(f.Revisions, Revision{fmt.Sprintf("r%d", i+3), int64(i + 3)})
	}
	f.Desired = "r9"
	for limit, want := range map[int32][]string{0: {"r10", "r8", "r6", "r5", "r4", "r3", "r2"}, 3: {"r5", "r4", "r3", "r2"}, 7: nil, 10: nil} {
		f.Set.Spec.RevisionHistoryLimit = ptr.To(limit)
		if diff := cmp.Diff(want, Plan(f.Inputs).DeleteRevisions); diff != "" {
			t.Errorf("limit %d keeps the updated (r11), current (r1), desired (r9) and used (r7) ones, and the latest of the others (-want +got):\n%s", limit, diff)
		}
	}
}

func TestEvents(t *testing.T) {
	f := newFixture()
	f.place("p", "c1")
	steps := []struct {
		reason string
		change func()
		want   []string
	}{
		{"a new set has an event for what is wrong", func() { f.SourceProblem = "ConfigMap a does not exist" }, []string{"Normal SourcesInvalid", "Warning SourcesInvalid"}},
		{"and when it is right", func() { f.SourceProblem = "" }, []string{"Normal Progressing", "Normal AsExpected"}},
		{"nothing is new", func() {}, nil},
		{"rolled out", func() { f.synced("c1", "r2", 60) }, []string{"Normal RolledOut"}},
		{"failed", func() { f.Reports["c1"][0].State = v1alpha1.MirrorFailed }, []string{"Normal ClustersFailed", "Warning ClustersFailed"}},
		{"held", func() { f.Placements["p"] = Placement{Gone: true} },
			[]string{"Warning PlacementNotFound", "Normal PlacementsNotResolved", "Warning RemovalsHeld"}},
	}
	for _, step := range steps {
		step.change()
		result := Plan(f.Inputs)
		var got []string
		for _, event := range result.Events {
			got = append(got, event.Type+" "+event.Reason)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", step.reason, diff)
		}
		f.Set.Status = result.Status
	}
}

func TestFinalize(t *testing.T) {
	f := newFixture()
	f.Set.DeletionTimestamp = &metav1.Time{Time: now}
	if got := Plan(f.Inputs); !got.RemoveFinalizer || len(got.Writes) > 0 {
		t.Errorf("nothing is left: %+v", got)
	}
	f.synced("c1", "r2", 60)
	f.Objects[0].Deleting = true
	if got := Plan(f.Inputs); got.RemoveFinalizer || written(got.Writes) != "delete c1/b" {
		t.Errorf("one is being deleted, one is left: %v", got.Writes)
	}
	f.refuse("c1", "", 60)
	if got := Plan(f.Inputs); got.RemoveFinalizer || conditions(got.Status) != "Degraded=True/RemovalsRefused" {
		t.Errorf("a refusal where the add-on is enabled keeps the set: %+v", got)
	}
	f.disabled = []string{"c1"}
	if got := Plan(f.Inputs); !got.RemoveFinalizer || len(got.Writes) > 0 {
		t.Errorf("a refusal where the add-on is not enabled does not: %+v", got)
	}
}

func TestOlder(t *testing.T) {
	set := func(name string, age int) *v1alpha1.ConfigMapReplicaSet {
		return &v1alpha1.ConfigMapReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, CreationTimestamp: metav1.NewTime(now.Add(-time.Duration(age)))}}
	}
	if !Older(set("b", 2), set("a", 1)) || Older(set("a", 1), set("b", 2)) || !Older(set("a", 1), set("b", 1)) || Older(set("b", 1), set("a", 1)) {
		t.Error("the older set has a ConfigMap, of the same age the first by name")
	}
}

func TestNewObject(t *testing.T) {
	source := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "c1", Name: "a", UID: "u", ResourceVersion: "1", DeletionTimestamp: &metav1.Time{Time: now},
		Labels: map[string]string{"app.kubernetes.io/managed-by": "helloworld-replicaset-controller", "helloworld.open-cluster-management.io/replica-set-uid": "uid"},
		Annotations: map[string]string{"helloworld.open-cluster-management.io/replica-set": "team/settings",
			"helloworld.open-cluster-management.io/revision": "r1", "helloworld.open-cluster-management.io/revision-since": "2026-11-23T12:00:00Z"}},
		Immutable: ptr.To(true)}
	got := NewObject(source, "hash")
	want := Object{Cluster: "c1", Name: "a", UID: "u", ResourceVersion: "1", ManagedBy: "helloworld-replicaset-controller", Set: "team/settings", SetUID: "uid",
		Revision: "r1", Since: now, Content: "hash", Immutable: true, Deleting: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
	if !got.Owned(newFixture().Set) {
		t.Error("it belongs to the set")
	}
	source.Annotations["helloworld.open-cluster-management.io/revision-since"] = "yesterday"
	if got := NewObject(source, "hash"); !got.Since.IsZero() {
		t.Errorf("since %v", got.Since)
	}
}
