package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/steps"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// fixture builds the inputs of a set with the revisions r1 and r2, which is rolled out, of the ConfigMaps
// a and b.
type fixture struct {
	Inputs
	problems map[string]string // cluster or cluster/revision → problem
	contents map[string]string // cluster/revision/name → hash
	claims   map[string]string
	disabled []string
	names    map[string][]string
}

func newFixture() *fixture {
	f := &fixture{problems: map[string]string{}, contents: map[string]string{}, claims: map[string]string{},
		names: map[string][]string{"r0": {"a", "b"}, "r1": {"a", "b"}, "r2": {"a", "b"}}}
	f.Inputs = Inputs{
		Set: &v1alpha1.ConfigMapReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "settings", UID: setUID, Generation: 7,
			Finalizers: []string{manifests.ReplicaSetFinalizer}, Annotations: map[string]string{}}},
		Revisions: []Revision{{"r1", 1}, {"r2", 2}}, Desired: "r2", Placements: map[string]Placement{}, Reports: map[string][]v1alpha1.MirroredConfigMap{},
		Enabled: func(cluster string) bool { return !slices.Contains(f.disabled, cluster) },
		Claimed: func(cluster, name string) string { return f.claims[cluster+"/"+name] },
		Content: f.content, RemovalDelay: testDelay, Now: now,
	}
	f.Set.Status.CurrentRevision = "r1"
	return f
}

func (f *fixture) content(cluster, revision string) Content {
	if !slices.ContainsFunc(f.Revisions, func(r Revision) bool { return r.Name == revision }) {
		panic("content of a revision that is not stored: " + revision)
	}
	if problem := f.problems[cluster] + f.problems[cluster+"/"+revision]; problem != "" {
		return Content{Problem: problem}
	}
	hashes := map[string]string{}
	for _, name := range f.names[revision] {
		hashes[name] = revision + name + f.contents[cluster+"/"+revision+"/"+name]
	}
	return Content{Hashes: hashes}
}

// place makes a Placement select the clusters of groups such as "c1 c2|c3", all at once.
func (f *fixture) place(name, groups string) {
	placement := Placement{Readable: true}
	for i, part := range strings.Split(groups, "|") {
		placement.Groups = append(placement.Groups, steps.Group{Index: int32(i), Clusters: strings.Fields(part)})
	}
	if _, there := f.Placements[name]; !there {
		f.Set.Spec.PlacementRefs = append(f.Set.Spec.PlacementRefs, v1alpha1.PlacementReference{Name: name})
	}
	f.Placements[name] = placement
}

// progressive makes the first Placement go one cluster at a time.
func (f *fixture) progressive(failures int, config clusterv1alpha1.RolloutConfig) {
	config.MaxFailures = intstr.FromInt32(int32(failures))
	f.Set.Spec.PlacementRefs[0].RolloutStrategy = clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.Progressive,
		Progressive: &clusterv1alpha1.RolloutProgressive{RolloutConfig: config, MaxConcurrency: intstr.FromInt32(1)}}
}

// give adds the objects of a revision to clusters, as of some seconds ago.
func (f *fixture) give(clusters, revision string, age int) {
	for _, cluster := range strings.Fields(clusters) {
		for _, name := range f.names[revision] {
			f.object(cluster, name, revision, age)
		}
	}
}

func (f *fixture) object(cluster, name, revision string, age int) *Object {
	f.Objects = append(f.Objects, Object{Cluster: cluster, Name: name, UID: "u", ResourceVersion: "1",
		ManagedBy: manifests.ManagedByReplicaSet, Set: setKey, SetUID: setUID,
		Revision: revision, Since: now.Add(-time.Duration(age) * time.Second), Content: revision + name})
	return &f.Objects[len(f.Objects)-1]
}

// report makes clusters report a revision, as of some seconds ago.
func (f *fixture) report(clusters, revision string, state v1alpha1.MirrorState, age int) {
	for _, cluster := range strings.Fields(clusters) {
		for _, name := range f.names[revision] {
			f.Reports[cluster] = append(f.Reports[cluster], v1alpha1.MirroredConfigMap{Name: name, Revision: revision, State: state,
				Message: "of another owner", Since: metav1.NewTime(now.Add(-time.Duration(age) * time.Second))})
		}
	}
}

// synced gives clusters a revision and makes them report it.
func (f *fixture) synced(clusters, revision string, age int) {
	f.give(clusters, revision, age)
	f.report(clusters, revision, v1alpha1.MirrorSynced, age)
}

func (f *fixture) refuse(cluster, revision string, age int) {
	f.Refusals = append(f.Refusals, Refusal{Cluster: cluster, Revision: revision, Message: "forbidden", Since: now.Add(-time.Duration(age) * time.Second)})
}

// holding makes the status as it is after the plan of a hold some minutes ago.
func (f *fixture) holding(minutes int) {
	before := f.Now
	f.Now = now.Add(-time.Duration(minutes) * time.Minute)
	f.Set.Status = Plan(f.Inputs).Status
	f.Now = before
}

func written(writes []Write) string {
	var lines []string
	for _, write := range writes {
		lines = append(lines, write.String())
	}
	return strings.Join(lines, ", ")
}

// conditions returns the statuses and reasons of the conditions, and the messages of those that are bad.
func conditions(status v1alpha1.ConfigMapReplicaSetStatus) string {
	var lines []string
	for _, condition := range status.Conditions {
		lines = append(lines, fmt.Sprintf("%s=%s/%s", condition.Type, condition.Status, condition.Reason))
	}
	return strings.Join(lines, " ")
}

// synced0 is synced where there are no reports.
func (f *fixture) synced0(clusters, revision string, age int) {
	f.Reports = map[string][]v1alpha1.MirroredConfigMap{}
	f.synced(clusters, revision, age)
}
