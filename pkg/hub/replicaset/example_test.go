package replicaset

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	rolloutv1alpha1 "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1alpha1"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/steps"
)

// documents has the objects of a file for users, each decoded strictly.
type documents struct {
	namespaces []corev1.Namespace
	bindings   []clusterv1beta2.ManagedClusterSetBinding
	placements []clusterv1beta1.Placement
	sources    []corev1.ConfigMap
	sets       []v1alpha1.ConfigMapReplicaSet
}

func decodeDocuments(t *testing.T, text string) (d documents) {
	t.Helper()
	for document := range strings.SplitSeq(text, "\n---\n") {
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &meta); err != nil {
			t.Fatal(err)
		}
		switch meta.APIVersion + " " + meta.Kind {
		case "v1 Namespace":
			d.namespaces = append(d.namespaces, decode[corev1.Namespace](t, document))
		case "cluster.open-cluster-management.io/v1beta2 ManagedClusterSetBinding":
			d.bindings = append(d.bindings, decode[clusterv1beta2.ManagedClusterSetBinding](t, document))
		case "cluster.open-cluster-management.io/v1beta1 Placement":
			d.placements = append(d.placements, decode[clusterv1beta1.Placement](t, document))
		case "v1 ConfigMap":
			d.sources = append(d.sources, decode[corev1.ConfigMap](t, document))
		case "helloworld.open-cluster-management.io/v1alpha1 ConfigMapReplicaSet":
			d.sets = append(d.sets, decode[v1alpha1.ConfigMapReplicaSet](t, document))
		default:
			t.Errorf("the kind %s %s is not expected", meta.APIVersion, meta.Kind)
		}
	}
	return d
}

func decode[T any](t *testing.T, document string) (object T) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
		t.Error(err)
	}
	return object
}

// TestExample: the objects of deploy/example/replicaset.yaml name each other, and do what its comments say.
func TestExample(t *testing.T) {
	content, err := os.ReadFile("../../../deploy/example/replicaset.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d := decodeDocuments(t, string(content))
	if len(d.namespaces) != 1 || len(d.bindings) != 1 || len(d.placements) != 1 || len(d.sources) != 1 || len(d.sets) != 1 {
		t.Fatalf("the example lacks an object: %+v", d)
	}
	namespace, binding, placement, source, set := d.namespaces[0].Name, d.bindings[0], d.placements[0], d.sources[0], d.sets[0]
	got := []string{binding.Namespace, placement.Namespace, source.Namespace, set.Namespace,
		binding.Spec.ClusterSet, placement.Spec.ClusterSets[0], set.Spec.PlacementRefs[0].Name, set.Spec.ConfigMaps[0].Name}
	want := []string{namespace, namespace, namespace, namespace, binding.Name, binding.Name, placement.Name, source.Name}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	expectContent(t, source, set, clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "c", Labels: map[string]string{"region": "us"}}},
		map[string]string{"level": "info", "region": "us", "url": "https://c.example.com"})
	expectContent(t, source, set, clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "c"}},
		map[string]string{"level": "info", "region": "eu", "url": "https://c.example.com"})

	canary := steps.Group{Name: placement.Spec.DecisionStrategy.GroupStrategy.DecisionGroups[0].GroupName, Clusters: []string{"canary"}}
	others := steps.Group{Index: 1, Clusters: []string{"a", "b"}}
	waits := func(string) steps.State { return steps.State{Status: rolloutv1alpha1.ToApply} }
	decision, err := steps.Decide(set.Spec.PlacementRefs[0].RolloutStrategy, []steps.Group{canary, others}, waits, time.Now())
	if diff := cmp.Diff(steps.Decision{Start: canary.Clusters}, decision); diff != "" || err != nil {
		t.Errorf("the first step, error %v (-want +got):\n%s", err, diff)
	}
	decision, err = steps.Decide(set.Spec.PlacementRefs[0].RolloutStrategy, []steps.Group{others}, waits, time.Now())
	if decision.Stopped == "" || err != nil {
		t.Errorf("without a canary cluster: decision %+v, error %v, want it to stop", decision, err)
	}
}

// expectContent compares what a cluster gets.
func expectContent(t *testing.T, source corev1.ConfigMap, set v1alpha1.ConfigMapReplicaSet, cluster clusterv1.ManagedCluster, want map[string]string) {
	t.Helper()
	program, err := render.Compile(render.NewRevision([]render.Content{render.ContentOf(&source)}, set.Spec.Values))
	if err != nil {
		t.Fatal(err)
	}
	contents, err := program.Render(&cluster)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, contents[0].Data); diff != "" {
		t.Errorf("what a cluster with the labels %v gets (-want +got):\n%s", cluster.Labels, diff)
	}
}

// TestExamplesOfThePage: every YAML block of docs/replicaset.md can be applied.
func TestExamplesOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/replicaset.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	sets := 0
	for _, block := range blocks {
		sets += len(decodeDocuments(t, block[1]).sets)
	}
	if sets == 0 {
		t.Error("the page has no ConfigMapReplicaSet")
	}
}
