package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	hubplan "open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/plan"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/steps"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// data is that of a ConfigMap.
type data = map[string]string

// world builds facts: clusters c1 to c3 with the add-on, which is all that the hub has.
type world struct {
	*Facts
	t *testing.T
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, Facts: &Facts{
		File:       File{Placements: map[Key]bool{}, Namespaces: map[string]bool{}, Others: map[string]int{}},
		ConfigMaps: map[Key]*ConfigMap{}, Sources: map[Key]*corev1.ConfigMap{}, Placements: map[Key]hubplan.Placement{}, Clusters: map[string]*Cluster{},
		SetsRead: true, ClustersRead: true, AddOnsRead: true, ObjectsRead: true, Now: now,
	}}
	for _, name := range []string{"c1", "c2", "c3"} {
		w.Clusters[name] = &Cluster{HasAddOn: true, Reports: map[string]v1alpha1.MirroredConfigMap{}, Managed: &clusterv1.ManagedCluster{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"region": "of-" + name}}}}
	}
	return w
}

func keyOf(text string) Key {
	namespace, name, _ := strings.Cut(text, "/")
	return Key{Namespace: namespace, Name: name}
}

func configMap(key string, content data) *corev1.ConfigMap {
	if content == nil {
		return nil
	}
	k := keyOf(key)
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Name, UID: types.UID("uid " + key)}, Data: content}
}

// file puts a ConfigMap into the file. It is on the hub if before is not nil.
func (w *world) file(key string, before, after data) *ConfigMap {
	c := &ConfigMap{Key: keyOf(key), Live: configMap(key, before), After: configMap(key, after)}
	w.ConfigMaps[c.Key] = c
	return c
}

// source puts a ConfigMap on the hub.
func (w *world) source(key string, content data) { w.Sources[keyOf(key)] = configMap(key, content) }

// place makes a Placement select clusters.
func (w *world) place(key string, clusters ...string) {
	w.Placements[keyOf(key)] = hubplan.Placement{Readable: true, Groups: []steps.Group{{Clusters: clusters}}}
}

// spec returns the spec of a set with these sources, and the Placement "fleet".
func spec(sources ...string) v1alpha1.ConfigMapReplicaSetSpec {
	s := v1alpha1.ConfigMapReplicaSetSpec{PlacementRefs: []v1alpha1.PlacementReference{{Name: "fleet"}}}
	for _, source := range sources {
		s.ConfigMaps = append(s.ConfigMaps, v1alpha1.ConfigMapReference{Name: source})
	}
	return s
}

// set puts a set on the hub that was created some minutes ago.
func (w *world) set(key string, age int, s v1alpha1.ConfigMapReplicaSetSpec) *Set {
	k := keyOf(key)
	live := &v1alpha1.ConfigMapReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Name, UID: types.UID("uid " + key),
		CreationTimestamp: metav1.NewTime(now.Add(-time.Duration(age) * time.Minute))}, Spec: s}
	set := &Set{Key: k, Live: live, After: live}
	w.Sets = append(w.Sets, set)
	return set
}

// applied puts a set into the file, with another spec.
func (s *Set) applied(to v1alpha1.ConfigMapReplicaSetSpec) {
	s.InFile = true
	s.After = &v1alpha1.ConfigMapReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}}
	if s.Live != nil {
		s.After = s.Live.DeepCopy()
	}
	s.After.Spec = to
}

// created puts a new set into the file.
func (w *world) created(key string, to v1alpha1.ConfigMapReplicaSetSpec) *Set {
	set := &Set{Key: keyOf(key)}
	w.Sets = append(w.Sets, set)
	set.applied(to)
	return set
}

// deliver puts what a set delivers now into the namespaces of clusters.
func (w *world) deliver(set *Set, clusters ...string) {
	w.t.Helper()
	r := newRevision(set.Live, func(key Key) *corev1.ConfigMap {
		if own := w.ConfigMaps[key]; own != nil {
			return own.Live
		}
		return w.Sources[key]
	})
	p := &planner{Facts: w.Facts}
	for _, cluster := range clusters {
		contents, err := p.contentOf(r, set.Live.Spec.Values, cluster)
		if err != nil {
			w.t.Fatal(err)
		}
		for name, content := range contents {
			w.Objects = append(w.Objects, p.owned(set, set.Live, hubplan.Write{Cluster: cluster, Name: name, UID: "u", Revision: r.hash, Since: now, Content: content.Sum()}, content))
		}
	}
}

// foreign puts a ConfigMap of nobody into the namespace of a cluster.
func (w *world) foreign(key string, content data) {
	w.Objects = append(w.Objects, NewObject(configMap(key, content)))
}

func (w *world) reportState(cluster, name string, state v1alpha1.MirrorState) {
	w.Clusters[cluster].Reports[name] = v1alpha1.MirroredConfigMap{Name: name, State: state, Message: "because"}
}

// answer decides, and returns the report with what was read for it: nothing else is known.
func (w *world) answer() *Report {
	w.t.Helper()
	w.Decide()
	for key := range w.Placements {
		if !slices.Contains(w.PlacementKeys(), key) {
			delete(w.Placements, key)
		}
	}
	for _, key := range w.PlacementKeys() {
		if _, known := w.Placements[key]; !known {
			w.Placements[key] = hubplan.Placement{Gone: true}
		}
	}
	return New(w.Facts)
}

// short returns the changes and findings of a report, one on a line: "c1 c2 settings updated", "Blocked Conflict [c1]: message".
func short(r *Report) string {
	var lines []string
	for _, group := range r.Groups {
		for _, change := range group.ConfigMaps {
			lines = append(lines, fmt.Sprintf("%s %s %s", strings.Join(group.Clusters, " "), change.Name, change.Action))
		}
	}
	for _, f := range r.Findings {
		lines = append(lines, fmt.Sprintf("%s %s %v: %s", f.Effect, f.Reason, f.Clusters, f.Message))
	}
	return strings.Join(lines, "\n")
}

var (
	one = data{"level": "info"}
	two = data{"level": "debug"}
)

func selector(text string) labels.Selector {
	parsed, err := labels.Parse(text)
	if err != nil {
		panic(err)
	}
	return parsed
}
