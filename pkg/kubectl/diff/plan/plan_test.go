package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	hubplan "open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/plan"
)

// check runs cases, each of which wants a short report.
type testCase struct {
	name, reason string
	setUp        func(w *world)
	want         string
}

func check(t *testing.T, cases []testCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			c.setUp(w)
			if diff := cmp.Diff(strings.TrimSpace(c.want), short(w.answer())); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestConfigMaps: ConfigMaps in the namespaces of clusters.
func TestConfigMaps(t *testing.T) {
	check(t, []testCase{
		{"created", "the cluster gets it", func(w *world) { w.file("c1/a", nil, one) }, "c1 a created"},
		{"updated", "the copy changes", func(w *world) { w.file("c1/a", one, two) }, "c1 a updated"},
		{"as it is", "nothing changes", func(w *world) { w.file("c1/a", one, one) }, ""},
		{"two clusters", "each has its own", func(w *world) { w.file("c1/a", nil, one); w.file("c2/a", nil, two) }, "c1 a created\nc2 a created"},
		{"alike", "clusters with the same change are one group", func(w *world) { w.file("c1/a", nil, one); w.file("c2/a", nil, one) }, "c1 c2 a created"},
		{"metadata", "a copy has no labels of its source", func(w *world) { w.file("c1/a", one, one).After.Labels = map[string]string{"team": "a"} }, ""},

		{"kube-root-ca.crt", "docs/design.md#rule-1-source", func(w *world) { w.file("c1/kube-root-ca.crt", nil, one) },
			"Note Excluded [c1]: ConfigMap kube-root-ca.crt: the add-on never copies a ConfigMap of this name"},
		{"openshift-service-ca.crt", "docs/design.md#rule-1-source", func(w *world) { w.file("c1/openshift-service-ca.crt", one, two) },
			"Note Excluded [c1]: ConfigMap openshift-service-ca.crt: the add-on never copies a ConfigMap of this name"},
		{"the uninstall marker", "docs/design.md#rule-1-source", func(w *world) { w.file("c1/helloworld-agent-uninstall", nil, one) },
			"Note Excluded [c1]: ConfigMap helloworld-agent-uninstall: the add-on never copies a ConfigMap of this name"},
		{"opted out", "docs/design.md#rule-1-source", func(w *world) { w.file("c1/a", nil, one).After.Labels = optOut },
			"Note Excluded [c1]: ConfigMap a has the label helloworld.open-cluster-management.io/sync: disabled, so it is not copied"},
		{"opts out", "docs/design.md#rule-5-prune: its copy is removed", func(w *world) { w.file("c1/a", one, one).After.Labels = optOut },
			"c1 a removed\nNote Excluded [c1]: ConfigMap a has the label helloworld.open-cluster-management.io/sync: disabled, so it is not copied"},
		{"opts in", "the copy appears", func(w *world) { w.file("c1/a", one, one).Live.Labels = optOut }, "c1 a created"},

		{"not enabled", "no agent copies it", func(w *world) { w.Clusters["c1"].HasAddOn = false; w.file("c1/a", one, two) },
			"Note NotEnabled [c1]: ConfigMap a is not copied: the add-on is not enabled there"},
		{"uninstalling", "the copies are being removed", func(w *world) { w.Clusters["c1"].Deleting = true; w.file("c1/a", one, two) },
			"Note Uninstalling [c1]: ConfigMap a is not copied: the add-on is being disabled there"},
		{"no cluster", "a namespace like any other", func(w *world) { w.file("other/a", nil, one) },
			"Note NoCluster []: ConfigMap other/a: no cluster gets it, because there is no ManagedCluster other, and no ConfigMapReplicaSet of that namespace has this source"},
		{"being deleted", "a finalizer keeps it", func(w *world) { w.file("c1/a", one, two).After.DeletionTimestamp = &metav1.Time{Time: now} },
			"c1 a updated\nNote Deleting [c1]: ConfigMap a is being deleted, and a finalizer keeps it: its copy is deleted with it"},

		{"refused", "the rest is shown", func(w *world) {
			refused := w.file("c1/a", one, nil)
			refused.Failure = &Failure{"Refused", "the API server refuses it: exceeded quota"}
			w.file("c2/a", nil, one)
		}, "c2 a created\nIncomplete Refused []: ConfigMap c1/a: the API server refuses it: exceeded quota"},
		{"immutable", "docs/design.md#rule-2-copy", func(w *world) {
			yes := true
			w.file("c1/a", one, two).Live.Immutable = &yes
		}, "c1 a updated\nNote Replaced [c1]: ConfigMap a is immutable: its copy is deleted and created again"},

		{"conflict", "docs/design.md#rule-3-ownership", func(w *world) { w.file("c1/a", one, two); w.reportState("c1", "a", v1alpha1.MirrorConflict) },
			"Blocked Conflict [c1]: ConfigMap a: the agent reports Conflict: because"},
		{"conflict, as it is", "nothing would change, and it is printed all the same", func(w *world) { w.file("c1/a", one, one); w.reportState("c1", "a", v1alpha1.MirrorConflict) },
			"Note Conflict [c1]: ConfigMap a: the agent reports Conflict: because"},
		{"conflict, opts out", "there is no copy to remove", func(w *world) {
			w.file("c1/a", one, one).After.Labels = optOut
			w.reportState("c1", "a", v1alpha1.MirrorConflict)
		}, "Note Conflict [c1]: ConfigMap a: the agent reports Conflict: because\n" +
			"Note Excluded [c1]: ConfigMap a has the label helloworld.open-cluster-management.io/sync: disabled, so it is not copied"},
		{"contested", "docs/design.md#rule-11-contest: the change is written", func(w *world) { w.file("c1/a", one, two); w.reportState("c1", "a", v1alpha1.MirrorContested) },
			"c1 a updated\nNote Contested [c1]: ConfigMap a: the agent reports Contested: because"},
		{"failed", "other content may be possible", func(w *world) { w.file("c1/a", one, two); w.reportState("c1", "a", v1alpha1.MirrorFailed) },
			"c1 a updated\nNote Failed [c1]: ConfigMap a: the agent reports Failed: because"},
		{"conflict of another", "it is not in the file", func(w *world) { w.file("c1/a", one, two); w.reportState("c1", "b", v1alpha1.MirrorConflict) }, "c1 a updated"},

		{"narrowed by name", "the others are left out, with their findings", func(w *world) {
			w.file("c1/a", nil, one)
			w.file("c2/a", nil, one).Failure = &Failure{"Refused", "no"}
			w.Chosen.Names = []string{"c1"}
		}, "c1 a created"},
		{"add-ons not read", "the add-on is taken for enabled", func(w *world) { w.Clusters["c1"].HasAddOn, w.AddOnsRead = false, false; w.file("c1/a", nil, one) }, "c1 a created"},
		{"clusters not read", "one with the add-on is a cluster", func(w *world) { w.Clusters["c1"].Managed, w.ClustersRead = nil, false; w.file("c1/a", nil, one) }, "c1 a created"},
		{"neither read", "whether it is a cluster is not known", func(w *world) {
			w.Clusters["c1"], w.ClustersRead, w.AddOnsRead = &Cluster{}, false, false
			w.file("c1/a", nil, one)
		}, "Incomplete ClusterNotRead []: ConfigMap c1/a: it is not known whether there is a cluster c1: neither its ManagedCluster nor its add-on could be read"},
		{"sets not read", "whether it is a source is not known", func(w *world) { w.SetsRead = false; w.file("team/a", nil, one) },
			"Incomplete NoCluster []: ConfigMap team/a: there is no ManagedCluster team, and it is not known whether the ConfigMap is a source of a ConfigMapReplicaSet"},
	})
}

var optOut = map[string]string{manifests.SyncLabel: manifests.SyncDisabled}

// TestOwnedBySet: a ConfigMap that a set writes to the namespace of a cluster.
func TestOwnedBySet(t *testing.T) {
	owned := func(w *world, set *Set) *ConfigMap {
		c := w.file("c1/a", one, two)
		for _, version := range []*metav1.ObjectMeta{&c.Live.ObjectMeta, &c.After.ObjectMeta} {
			version.Labels = map[string]string{manifests.ManagedByLabel: manifests.ManagedByReplicaSet, manifests.ReplicaSetUIDLabel: string(set.Live.UID)}
			version.Annotations = map[string]string{manifests.ReplicaSetAnnotation: "team/s"}
		}
		return c
	}
	check(t, []testCase{
		{"of a set", "the set writes its own again", func(w *world) { owned(w, w.set("team/s", 60, spec("a"))) },
			"Blocked OwnedBySet [c1]: ConfigMap a belongs to ConfigMapReplicaSet team/s, which writes it again: change its source there"},
		{"of a set, as it is", "nothing changes", func(w *world) { owned(w, w.set("team/s", 60, spec("a"))).After.Data = one }, ""},
		{"of a former set", "nobody writes it", func(w *world) { owned(w, w.set("team/s", 60, spec("a"))); w.Sets[0].Live.UID = "another" }, "c1 a updated"},
		{"of a set that is being deleted", "it writes nothing any more", func(w *world) {
			set := w.set("team/s", 60, spec("a"))
			owned(w, set)
			set.Live.DeletionTimestamp = &metav1.Time{Time: now}
		}, "c1 a updated"},
		{"sets not read", "its marks name a set", func(w *world) { w.SetsRead = false; owned(w, w.set("team/s", 60, spec("a"))); w.Sets = nil },
			"Blocked OwnedBySet [c1]: ConfigMap a belongs to ConfigMapReplicaSet team/s, which writes it again: change its source there"},
	})
}

// TestSets: ConfigMapReplicaSets, and their sources.
func TestSets(t *testing.T) {
	check(t, []testCase{
		{"a source changes", "every cluster gets it", func(w *world) {
			w.file("team/a", one, two)
			w.place("team/fleet", "c1", "c2")
			w.deliver(w.set("team/s", 60, spec("a")), "c1", "c2")
		}, "c1 c2 a updated"},
		{"a source is as it is", "nothing changes, and no Placement is needed", func(w *world) {
			w.file("team/a", one, one)
			w.deliver(w.set("team/s", 60, spec("a")), "c1")
		}, ""},
		{"a new set", "with its source", func(w *world) {
			w.file("team/a", nil, one)
			w.created("team/s", spec("a"))
			w.place("team/fleet", "c1", "c2")
		}, "c1 c2 a created"},
		{"values", "each cluster has its own", func(w *world) {
			w.file("team/a", data{"region": "$(REGION)"}, data{"region": "in $(REGION)"})
			s := spec("a")
			s.Values = []v1alpha1.Value{{Name: "REGION", Label: "region"}}
			w.place("team/fleet", "c1", "c2")
			w.deliver(w.set("team/s", 60, s), "c1", "c2")
		}, "c1 a updated\nc2 a updated"},
		{"a value is missing", "the cluster keeps what it has", func(w *world) {
			w.file("team/a", one, data{"zone": "$(ZONE)"})
			s := spec("a")
			s.Values = []v1alpha1.Value{{Name: "ZONE", Label: "zone"}}
			w.place("team/fleet", "c1", "c2", "c3")
			w.Clusters["c3"].Managed.Labels["zone"] = "b"
			w.deliver(w.set("team/s", 60, s), "c1", "c2", "c3")
		}, "c3 a updated\nBlocked NotPossible [c1 c2]: ConfigMapReplicaSet team/s: ConfigMap a, key zone, value ZONE: the ManagedCluster has no label zone, and the value has no default"},
		{"a source less", "its copies are removed", func(w *world) {
			w.source("team/a", one)
			w.source("team/b", two)
			set := w.set("team/s", 60, spec("a", "b"))
			w.place("team/fleet", "c1")
			w.deliver(set, "c1")
			set.applied(spec("a"))
		}, "c1 b removed"},
		{"a source does not exist", "the clusters keep what they have", func(w *world) {
			w.source("team/a", one)
			set := w.set("team/s", 60, spec("a"))
			w.place("team/fleet", "c1")
			w.deliver(set, "c1")
			set.applied(spec("a", "b"))
		}, "Blocked SourcesInvalid []: ConfigMapReplicaSet team/s: ConfigMap team/b does not exist: no further cluster gets a revision, and the clusters keep theirs"},
		{"a reference without a value", "as the controller", func(w *world) {
			w.file("team/a", one, data{"x": "$(NONE)"})
			w.place("team/fleet", "c1")
			w.deliver(w.set("team/s", 60, spec("a")), "c1")
		}, "Blocked SourcesInvalid []: ConfigMapReplicaSet team/s: ConfigMap a, key x: $(NONE) has no value: add it to spec.values, or write $$(NONE) for the text: " +
			"no further cluster gets a revision, and the clusters keep theirs"},
		{"too large", "docs/replicaset.md#limits", func(w *world) {
			w.file("team/a", one, data{"x": strings.Repeat("x", 1<<20), "y": "y"})
			w.place("team/fleet", "c1")
			w.deliver(w.set("team/s", 60, spec("a")), "c1")
		}, "Blocked NotPossible [c1]: ConfigMapReplicaSet team/s: ConfigMap a has 1048577 bytes on the ManagedCluster, and may have at most 1048576"},
		{"the source is refused", "the set stays as it is", func(w *world) {
			w.file("team/a", one, nil).Failure = &Failure{"Refused", "no"}
			w.deliver(w.set("team/s", 60, spec("a")), "c1")
		}, "Incomplete Refused []: ConfigMap team/a: no"},
		{"the set is refused", "the hub's stays as it is", func(w *world) {
			w.source("team/a", one)
			set := w.set("team/s", 60, spec("a"))
			set.InFile, set.Failure = true, &Failure{"Refused", "spec.configMaps: Required value"}
		}, "Incomplete Refused []: ConfigMapReplicaSet team/s: spec.configMaps: Required value"},
		{"the set is being deleted", "it delivers nothing", func(w *world) {
			w.file("team/a", one, two)
			set := w.set("team/s", 60, spec("a"))
			set.Live.DeletionTimestamp = &metav1.Time{Time: now}
			w.deliver(set, "c1")
		}, "Note Deleting []: ConfigMapReplicaSet team/s is being deleted: it writes nothing any more"},
		{"not rolled out", "the file has no part in that", func(w *world) {
			w.file("team/a", one, one)
			w.set("team/s", 60, spec("a")).Live.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionRolledOut, Status: "False", Reason: "Stopped"}}
		}, "Note NotRolledOut []: ConfigMapReplicaSet team/s: the files do not change what it delivers, and its rollout is not complete (Stopped)"},
		{"not enabled on one", "it gets nothing", func(w *world) {
			w.Clusters["c2"].HasAddOn = false
			w.file("team/a", one, two)
			w.place("team/fleet", "c1", "c2")
			w.deliver(w.set("team/s", 60, spec("a")), "c1")
		}, "c1 a updated\nNote NotEnabled [c2]: ConfigMapReplicaSet team/s: the add-on is not enabled there"},
		{"another revision is pending", "the diff is between now and the end", func(w *world) {
			w.file("team/a", one, two)
			w.place("team/fleet", "c1", "c2")
			w.deliver(w.set("team/s", 60, spec("a")), "c1", "c2")
			w.Objects[0].Revision = "former"
		}, "c1 c2 a updated\nNote Pending [c1]: ConfigMapReplicaSet team/s: the present revision is not there yet: the diff includes what is missing of it"},
		{"a conflict on the cluster", "the agent reports it", func(w *world) {
			w.file("team/a", one, two)
			w.place("team/fleet", "c1", "c2")
			w.deliver(w.set("team/s", 60, spec("a")), "c1", "c2")
			w.reportState("c2", "a", v1alpha1.MirrorConflict)
		}, "c1 a updated\nBlocked Conflict [c2]: ConfigMap a: the agent reports Conflict: because"},
		{"opted out by another", "its label stays on what the set writes", func(w *world) {
			w.file("team/a", one, two)
			w.place("team/fleet", "c1")
			w.deliver(w.set("team/s", 60, spec("a")), "c1")
			w.Objects[0].OptedOut = true
		}, ""},
		{"more than the agent reports", "docs/replicaset.md#limits", func(w *world) {
			w.file("team/a", nil, one)
			w.created("team/s", spec("a"))
			w.place("team/fleet", "c1", "c2")
			w.Clusters["c1"].OfSets = 500
		}, "c1 c2 a created\nNote TooMany [c1]: there are more than 500 ConfigMaps of sets: the agent reports no more, so a rollout does not end"},
		{"narrowed by label", "the others are left out, with their findings", func(w *world) {
			w.file("team/a", one, two)
			w.place("team/fleet", "c1", "c2", "c3")
			w.deliver(w.set("team/s", 60, spec("a")), "c1", "c2")
			w.foreign("c3/a", two)
			w.Chosen.Selector = selector("region=of-c1")
		}, "c1 a updated"},
	})
}

// TestSteps: how the clusters get a revision is printed, and the diff shows the end.
func TestSteps(t *testing.T) {
	changed := func(change func(s *v1alpha1.ConfigMapReplicaSetSpec)) func(w *world) {
		return func(w *world) {
			s := spec("a")
			change(&s)
			w.file("team/a", one, two)
			w.place("team/fleet", "c1", "c2")
			w.deliver(w.set("team/s", 60, s), "c1", "c2")
		}
	}
	check(t, []testCase{
		{"paused", "no cluster gets it now", changed(func(s *v1alpha1.ConfigMapReplicaSetSpec) { s.Paused = true }),
			"c1 c2 a updated\nNote Paused []: ConfigMapReplicaSet team/s is paused: no cluster gets this before it is resumed; the diff shows the end"},
		{"in steps", "a rollout may stop", changed(func(s *v1alpha1.ConfigMapReplicaSetSpec) {
			s.PlacementRefs[0].RolloutStrategy = clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.Progressive}
		}), "c1 c2 a updated\nNote InSteps []: ConfigMapReplicaSet team/s: the clusters get this in steps (Progressive), which may stop; the diff shows the end"},
		{"stops", "a failure that is known counts at once", func(w *world) {
			s := spec("a")
			s.Values = []v1alpha1.Value{{Name: "ZONE", Label: "zone"}}
			s.PlacementRefs[0].RolloutStrategy = clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.Progressive}
			w.file("team/a", one, data{"zone": "$(ZONE)"})
			w.place("team/fleet", "c1", "c2")
			w.Clusters["c2"].Managed.Labels["zone"] = "b"
			w.set("team/s", 60, s)
			w.deliver(w.Sets[0], "c1", "c2")
		}, "c2 a updated\n" +
			"Blocked NotPossible [c1]: ConfigMapReplicaSet team/s: ConfigMap a, key zone, value ZONE: the ManagedCluster has no label zone, and the value has no default\n" +
			"Blocked Stopped []: ConfigMapReplicaSet team/s: the rollout to Placement fleet stopped: 1 of 2 clusters of the placement failed, 0 tolerated: " +
			"the diff shows what the clusters get once that is repaired"},
		{"an invalid strategy", "no cluster begins", changed(func(s *v1alpha1.ConfigMapReplicaSetSpec) {
			s.PlacementRefs[0].RolloutStrategy = clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.Progressive,
				Progressive: &clusterv1alpha1.RolloutProgressive{RolloutConfig: clusterv1alpha1.RolloutConfig{ProgressDeadline: "5mm"}}}
		}), "c1 c2 a updated\nBlocked Stopped []: ConfigMapReplicaSet team/s: rolloutStrategy of Placement fleet: progressDeadline \"5mm\" is invalid: " +
			"use None, or a duration such as 10m: the diff shows what the clusters get once that is repaired"},
		{"all at once", "there are no steps", changed(func(s *v1alpha1.ConfigMapReplicaSetSpec) {
			s.PlacementRefs[0].RolloutStrategy = clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.All}
		}), "c1 c2 a updated"},
		{"paused by the file", "what the clusters have stays", func(w *world) {
			w.source("team/a", one)
			set := w.set("team/s", 60, spec("a"))
			w.deliver(set, "c1")
			paused := spec("a")
			paused.Paused = true
			set.applied(paused)
		}, ""},
	})
}

// TestPlacements: which clusters a set selects.
func TestPlacements(t *testing.T) {
	moved := func(w *world, policy v1alpha1.DeletionPolicy) *Set {
		w.source("team/a", one)
		set := w.set("team/s", 60, spec("a"))
		w.place("team/fleet", "c1", "c2")
		w.place("team/other", "c2", "c3")
		w.deliver(set, "c1", "c2")
		to := spec("a")
		to.DeletionPolicy = policy
		to.PlacementRefs[0].Name = "other"
		set.applied(to)
		return set
	}
	check(t, []testCase{
		{"another Placement", "one cluster gets it, one loses it", func(w *world) { moved(w, "") }, "c1 a removed\nc3 a created"},
		{"another Placement, orphan", "what the cluster has stays", func(w *world) { moved(w, v1alpha1.DeletionOrphan) },
			"c3 a created\nNote Left [c1]: ConfigMapReplicaSet team/s: what it wrote stays, as ConfigMaps that belong to no set (deletionPolicy: Orphan)"},
		{"a cluster that is gone", "nothing is left there but the add-on", func(w *world) {
			w.Clusters["c1"].Managed = nil
			moved(w, "")
		}, "c3 a created"},
		{"a Placement that is missing", "its clusters are not known, and removals are held", func(w *world) { moved(w, ""); delete(w.Placements, keyOf("team/other")) },
			"c1 c2 a removed\nIncomplete PlacementNotFound []: ConfigMapReplicaSet team/s: Placement other does not exist on the hub: its clusters are not known\n" +
				"Note RemovalHeld [c1 c2]: ConfigMapReplicaSet team/s: the controller holds these removals for 10 minutes (--mass-removal-delay), because they are many, or a Placement selects nothing"},
		{"a Placement of the file", "OCM decides once it is applied", func(w *world) {
			w.file("team/a", nil, one)
			w.created("team/s", spec("a"))
			w.File.Placements[keyOf("team/fleet")] = true
		}, "Incomplete PlacementNotFound []: ConfigMapReplicaSet team/s: Placement fleet is in the files and not on the hub: which clusters it selects is known once it is applied"},
		{"a Placement of the file and the hub", "it may select others then", func(w *world) {
			w.file("team/a", nil, one)
			w.created("team/s", spec("a"))
			w.place("team/fleet", "c1")
			w.File.Placements[keyOf("team/fleet")] = true
		}, "c1 a created\nNote PlacementInFile []: ConfigMapReplicaSet team/s: Placement fleet is in the files, too: the diff is for the clusters that it selects now"},
		{"a Placement that is not readable", "as the controller: nothing is removed, and no later Placement begins", func(w *world) {
			moved(w, "")
			w.Placements[keyOf("team/other")] = hubplan.Placement{Problem: "its PlacementDecisions have 1 of 2 clusters"}
		}, "Incomplete PlacementNotReadable []: ConfigMapReplicaSet team/s: Placement other is not readable: its PlacementDecisions have 1 of 2 clusters: its clusters are not known"},
	})
}

// TestConflicts: several want one name on a cluster.
func TestConflicts(t *testing.T) {
	check(t, []testCase{
		{"a ConfigMap of nobody", "it is left alone, and the cluster gets nothing of the revision", func(w *world) {
			w.file("team/a", nil, one)
			w.file("team/b", nil, one)
			w.created("team/s", spec("a", "b"))
			w.place("team/fleet", "c1", "c2")
			w.foreign("c1/b", two)
		}, "c2 a created\nc2 b created\nBlocked Conflict [c1]: ConfigMapReplicaSet team/s: ConfigMap b does not belong to a ConfigMapReplicaSet"},
		{"a ConfigMap of the file", "it is applied before the controller writes", func(w *world) {
			w.file("team/a", nil, one)
			w.file("c1/a", nil, two)
			w.created("team/s", spec("a"))
			w.place("team/fleet", "c1", "c2")
		}, "c1 a created\nc2 a created\nBlocked Conflict [c1]: ConfigMapReplicaSet team/s: ConfigMap a does not belong to a ConfigMapReplicaSet"},
		{"an older set", "it has the name", func(w *world) {
			w.file("team/a", nil, one)
			w.created("team/s", spec("a"))
			w.place("team/fleet", "c1", "c2")
			w.place("old/fleet", "c1")
			w.source("old/a", two)
			w.deliver(w.set("old/s", 60, spec("a")), "c1")
		}, "c2 a created\nBlocked Conflict [c1]: ConfigMapReplicaSet team/s: ConfigMap a belongs to ConfigMapReplicaSet old/s, which is older"},
		{"a younger set", "it yields, and then the older one has the name", func(w *world) {
			w.source("team/a", one)
			set := w.set("team/s", 60, spec("b"))
			w.source("team/b", one)
			w.place("team/fleet", "c1", "c2")
			w.deliver(set, "c1", "c2")
			set.applied(spec("a", "b"))
			w.place("young/fleet", "c1")
			w.source("young/a", two)
			w.deliver(w.set("young/s", 5, spec("a")), "c1")
		}, "c1 a updated\nc2 a created"},
		{"two new sets", "the first by namespace and name has it", func(w *world) {
			w.file("team/a", nil, one)
			w.file("next/a", nil, two)
			w.created("team/s", spec("a"))
			w.created("next/s", spec("a"))
			w.place("team/fleet", "c1")
			w.place("next/fleet", "c1")
		}, "c1 a created\nBlocked Conflict [c1]: ConfigMapReplicaSet team/s: ConfigMap a belongs to ConfigMapReplicaSet next/s, which is older"},
		{"a younger set elsewhere", "it keeps what it has", func(w *world) {
			w.file("team/a", one, two)
			w.place("team/fleet", "c1")
			w.deliver(w.set("team/s", 60, spec("a")), "c1")
			w.place("young/fleet", "c2")
			w.source("young/a", two)
			w.deliver(w.set("young/s", 5, spec("a")), "c2")
		}, "c1 a updated"},
		{"a younger set's own removals", "the file has no part in them", func(w *world) {
			w.file("team/a", one, two)
			w.place("team/fleet", "c1")
			w.deliver(w.set("team/s", 60, spec("a")), "c1")
			w.place("young/fleet", "c2")
			w.source("young/a", two)
			w.deliver(w.set("young/s", 5, spec("a")), "c2", "c3")
		}, "c1 a updated"},
	})
}

// TestNotRead: what could not be read is taken from the sources.
func TestNotRead(t *testing.T) {
	region := func() v1alpha1.ConfigMapReplicaSetSpec {
		s := spec("a")
		s.Values = []v1alpha1.Value{{Name: "REGION", Label: "region"}}
		return s
	}
	setUp := func(w *world) {
		w.file("team/a", data{"level": "info", "region": "$(REGION)"}, data{"level": "debug", "region": "$(REGION)"})
		w.place("team/fleet", "c1", "c2")
		w.set("team/s", 60, region())
	}
	for _, c := range []struct {
		name, reason string
		setUp        func(w *world)
		want         string
	}{
		{"ConfigMaps", "the clusters have what the sources make now", func(w *world) { w.ObjectsRead = false }, "region: of-c1"},
		{"ManagedClusters", "values are as in the source", func(w *world) { w.ClustersRead, w.Clusters["c1"].Managed, w.Clusters["c2"].Managed = false, nil, nil }, "region: $(REGION)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			setUp(w)
			c.setUp(w)
			report := w.answer()
			if got := short(report); got != "c1 c2 a updated" || !strings.Contains(report.Groups[0].ConfigMaps[0].Diff, " "+c.want+"\n") {
				t.Errorf("%s: %s\n%s", c.reason, got, report.Groups[0].ConfigMaps[0].Diff)
			}
		})
	}
}
