package plan

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
)

// revision is what a set delivers.
type revision struct {
	// hash is empty if there is none; problem is why.
	hash, problem string
	program       *render.Program
	// symbolic shows a value as $(NAME). It is used where the clusters' values are not known.
	symbolic *render.Program
}

// newRevision returns what a set delivers with these sources. Its rules are those of the controller.
func newRevision(set *v1alpha1.ConfigMapReplicaSet, source func(Key) *corev1.ConfigMap) revision {
	var all []render.Content
	for _, ref := range set.Spec.ConfigMaps {
		found := source(Key{Namespace: set.Namespace, Name: ref.Name})
		if found == nil {
			return revision{problem: fmt.Sprintf("ConfigMap %s/%s does not exist", set.Namespace, ref.Name)}
		}
		all = append(all, render.ContentOf(found))
	}
	content := render.NewRevision(all, set.Spec.Values)
	_, hash, err := content.Encode()
	if err != nil {
		return revision{problem: err.Error()}
	}
	r := revision{hash: hash}
	if r.program, err = render.Compile(content); err == nil {
		content.Values = symbols(content.Values)
		r.symbolic, err = render.Compile(content)
	}
	if err != nil {
		return revision{problem: err.Error()}
	}
	return r
}

// symbols returns values that are labels of the cluster that symbolicCluster returns.
func symbols(values []v1alpha1.Value) (all []v1alpha1.Value) {
	for _, value := range values {
		all = append(all, v1alpha1.Value{Name: value.Name, Label: value.Name})
	}
	return all
}

// symbolicCluster returns a cluster on which each value is its own $(NAME).
func symbolicCluster(name string, values []v1alpha1.Value) *clusterv1.ManagedCluster {
	cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for _, value := range values {
		cluster.Labels[value.Name] = "$(" + value.Name + ")"
	}
	return cluster
}

// touched reports whether the file has the set, or one of its sources.
func (f *Facts) touched(set *Set) bool {
	if set.InFile {
		return true
	}
	return set.After != nil && slices.ContainsFunc(set.After.Spec.ConfigMaps, func(ref v1alpha1.ConfigMapReference) bool {
		return f.ConfigMaps[Key{Namespace: set.Namespace, Name: ref.Name}] != nil
	})
}

// SourceKeys returns the sources that Decide needs, beside those of the file.
func (f *Facts) SourceKeys() []Key {
	keys := map[Key]bool{}
	for _, set := range f.Sets {
		if !f.touched(set) {
			continue
		}
		for _, version := range []*v1alpha1.ConfigMapReplicaSet{set.Live, set.After} {
			for _, name := range sourceNames(version) {
				if key := (Key{Namespace: set.Namespace, Name: name}); f.ConfigMaps[key] == nil {
					keys[key] = true
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(keys), compareKeys)
}

func sourceNames(set *v1alpha1.ConfigMapReplicaSet) (names []string) {
	if set == nil {
		return nil
	}
	for _, ref := range set.Spec.ConfigMaps {
		names = append(names, ref.Name)
	}
	return names
}

// Decide finds the sets that the file changes: the sources, the values or the Placements. A set that the file does not
// change continues its rollout, if there is one, whether the file is applied or not.
func (f *Facts) Decide() {
	source := func(after bool) func(Key) *corev1.ConfigMap {
		return func(key Key) *corev1.ConfigMap {
			switch own := f.ConfigMaps[key]; {
			case own == nil:
				return f.Sources[key]
			case after && own.Failure == nil:
				return own.After
			default:
				return own.Live
			}
		}
	}
	for _, set := range f.Sets {
		// A set that is being deleted delivers nothing any more.
		if set.After == nil || !f.touched(set) || set.After.DeletionTimestamp != nil {
			continue
		}
		set.after = newRevision(set.After, source(true))
		if set.Live == nil {
			set.changed = true
			continue
		}
		set.before = newRevision(set.Live, source(false))
		set.changed = set.before.hash != set.after.hash || set.before.problem != set.after.problem ||
			!slices.Equal(placementNames(set.Live), placementNames(set.After))
	}
}

func placementNames(set *v1alpha1.ConfigMapReplicaSet) (names []string) {
	for _, ref := range set.Spec.PlacementRefs {
		names = append(names, ref.Name)
	}
	return names
}

// rivals returns the other sets that have a source of the same name as a set that the file changes.
func (f *Facts) rivals() (all []*Set) {
	names := f.SourceNames()
	for _, set := range f.Sets {
		if !set.changed && set.After != nil && set.After.DeletionTimestamp == nil &&
			slices.ContainsFunc(sourceNames(set.After), func(name string) bool { return slices.Contains(names, name) }) {
			all = append(all, set)
		}
	}
	return all
}

// SourceNames returns the names of the sources of the sets that the file changes.
func (f *Facts) SourceNames() (names []string) {
	for _, set := range f.Sets {
		if set.changed {
			names = append(names, sourceNames(set.After)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// SetUIDs returns the UIDs of the sets that the file changes. A new set has none.
func (f *Facts) SetUIDs() (uids []types.UID) {
	for _, set := range f.Sets {
		if set.changed && set.Live != nil {
			uids = append(uids, set.Live.UID)
		}
	}
	return uids
}

// PlacementKeys returns the Placements of the sets that the file changes, and of those that share a ConfigMap with them.
func (f *Facts) PlacementKeys() []Key {
	keys := map[Key]bool{}
	add := func(namespace string, names []string) {
		for _, name := range names {
			keys[Key{Namespace: namespace, Name: name}] = true
		}
	}
	for _, set := range f.Sets {
		if set.changed {
			add(set.Namespace, placementNames(set.After))
			if set.Live != nil {
				add(set.Namespace, placementNames(set.Live))
			}
		}
	}
	for _, set := range f.rivals() {
		add(set.Namespace, placementNames(set.After))
	}
	return slices.SortedFunc(maps.Keys(keys), compareKeys)
}

// ClusterNames returns the namespaces of the ConfigMaps of the file and of Objects, and the clusters that the Placements select.
func (f *Facts) ClusterNames() []string {
	names := map[string]bool{}
	for key := range f.ConfigMaps {
		names[key.Namespace] = true
	}
	for _, object := range f.Objects {
		names[object.Cluster] = true
	}
	for _, set := range f.Sets {
		if set.changed {
			maps.Copy(names, f.selects(set.After))
			maps.Copy(names, f.selects(set.Live))
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// selects returns the clusters that the Placements of a set select.
func (f *Facts) selects(set *v1alpha1.ConfigMapReplicaSet) map[string]bool {
	clusters := map[string]bool{}
	if set == nil {
		return clusters
	}
	for _, name := range placementNames(set) {
		for _, group := range f.Placements[Key{Namespace: set.Namespace, Name: name}].Groups {
			for _, cluster := range group.Clusters {
				clusters[cluster] = true
			}
		}
	}
	return clusters
}

// planned returns the set as the plan of the controller needs it: as at the end of a rollout that nothing stops.
func (f *Facts) planned(set *Set) *v1alpha1.ConfigMapReplicaSet {
	planned := set.After.DeepCopy()
	planned.Finalizers, planned.Status = []string{manifests.ReplicaSetFinalizer}, v1alpha1.ConfigMapReplicaSetStatus{}
	planned.Spec.Paused = false
	for i := range planned.Spec.PlacementRefs {
		planned.Spec.PlacementRefs[i] = v1alpha1.PlacementReference{Name: planned.Spec.PlacementRefs[i].Name}
	}
	if set.Live == nil {
		// It becomes the youngest.
		planned.UID, planned.CreationTimestamp = types.UID("new "+set.Key.String()), metav1.NewTime(f.Now)
	} else {
		planned.UID, planned.CreationTimestamp = set.Live.UID, set.Live.CreationTimestamp
	}
	return planned
}

func compareKeys(a, b Key) int {
	return slices.Compare([]string{a.Namespace, a.Name}, []string{b.Namespace, b.Name})
}
