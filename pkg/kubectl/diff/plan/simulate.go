package plan

import (
	"maps"
	"slices"
	"strings"
	"time"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	hubplan "open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/plan"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
)

// maxRounds bounds how often the sets are planned. Each set needs one round, and one more for each set that yields a
// ConfigMap to it.
const maxRounds = 10

// holdDelay makes the plan of the controller hold removals that it would hold on a hub, whatever its delay is there.
const holdDelay = time.Hour

// simulate carries out in memory what the controller writes for the sets, until it writes nothing any more.
func (p *planner) simulate() {
	var changed, all []*simulated
	for _, set := range p.changed {
		changed = append(changed, p.newSimulated(set))
	}
	all = append(all, changed...)
	for _, set := range p.rivals() {
		rival := p.newSimulated(set)
		rival.rival = true
		all = append(all, rival)
	}
	for _, s := range all {
		others := all
		if s.rival {
			others = changed
		}
		s.claimed = hubplan.Claims(s.planned, plannedOf(others), p.selects)
	}
	for range maxRounds {
		writes := 0
		for _, s := range all {
			writes += p.round(s)
		}
		if writes == 0 {
			break
		}
	}
	for _, s := range changed {
		p.explainSimulated(s)
	}
}

func plannedOf(all []*simulated) (sets []*v1alpha1.ConfigMapReplicaSet) {
	for _, s := range all {
		sets = append(sets, s.planned)
	}
	return sets
}

// simulated is a set that is carried out in memory.
type simulated struct {
	*Set
	// rival reports that the file does not change it: it only yields.
	rival    bool
	planned  *v1alpha1.ConfigMapReplicaSet
	selected map[string]bool
	claimed  func(cluster, name string) string
	// contents has what each cluster gets, hashes the same as the plan of the controller reads it.
	contents map[string]map[string]*render.Content
	hashes   map[string]hubplan.Content
	// obstacles are why a cluster does not get the revision at the end.
	obstacles map[string]string
	// held are clusters whose removals the controller holds first, released those whose ConfigMaps it leaves.
	held, released []string
}

func (p *planner) newSimulated(set *Set) *simulated {
	return &simulated{Set: set, planned: p.planned(set), selected: p.selects(set.After),
		contents: map[string]map[string]*render.Content{}, hashes: map[string]hubplan.Content{}}
}

// inputs returns what the plan of the controller reads for a set, with these ConfigMaps in the clusters' namespaces.
func (p *planner) inputs(s *simulated, configMaps hub) hubplan.Inputs {
	in := hubplan.Inputs{
		Set: s.planned, Placements: map[string]hubplan.Placement{}, Enabled: p.enabled, Objects: s.objects(configMaps), Claimed: s.claimed,
		Content: func(cluster, _ string) hubplan.Content { return p.content(s, cluster) }, RemovalDelay: holdDelay, Now: p.Now,
	}
	for _, name := range placementNames(s.planned) {
		in.Placements[name] = p.Placements[Key{Namespace: s.Namespace, Name: name}]
	}
	if s.after.hash != "" && !s.rival {
		in.Revisions, in.Desired = []hubplan.Revision{{Name: s.after.hash, Number: 1}}, s.after.hash
	}
	return in
}

// round carries out one plan of a set, and returns the number of writes.
func (p *planner) round(s *simulated) int {
	in := p.inputs(s, p.after)
	result := hubplan.Plan(in)
	if held := result.Status.HeldRemovals; held != nil {
		// At the end they are removed.
		in.Set = s.planned.DeepCopy()
		in.Set.Status.HeldRemovals, in.RemovalDelay = held, 0
		before := result.Writes
		result = hubplan.Plan(in)
		s.hold(before, result.Writes)
	}
	s.obstacles = result.Obstacles
	writes := 0
	for _, write := range result.Writes {
		if !s.rival || s.claimed(write.Cluster, write.Name) != "" {
			p.carryOut(s, write)
			writes++
		}
	}
	return writes
}

// hold records the clusters of the writes that only the second plan has.
func (s *simulated) hold(before, after []hubplan.Write) {
	known := map[string]bool{}
	for _, write := range before {
		known[write.String()] = true
	}
	for _, write := range after {
		if !known[write.String()] {
			s.held = append(s.held, write.Cluster)
		}
	}
}

// objects returns what the plan of a set reads: its own objects, and those in its way.
func (s *simulated) objects(configMaps hub) (objects []hubplan.Object) {
	names := sourceNames(s.planned)
	for cluster, byName := range configMaps {
		for name, object := range byName {
			if object.SetUID == string(s.planned.UID) || s.selected[cluster] && slices.Contains(names, name) {
				objects = append(objects, object.Object)
			}
		}
	}
	return objects
}

// content returns what a cluster gets, as the plan of a set reads it.
func (p *planner) content(s *simulated, cluster string) hubplan.Content {
	if known, ok := s.hashes[cluster]; ok {
		return known
	}
	contents, err := p.contentOf(s.after, s.planned.Spec.Values, cluster)
	content := hubplan.Content{Hashes: make(map[string]string, len(contents))}
	if err != nil {
		// Clusters that fail for the same reason have the same text.
		content.Problem = strings.ReplaceAll(err.Error(), "ManagedCluster "+cluster, "the ManagedCluster")
	}
	for name, one := range contents {
		content.Hashes[name] = one.Sum()
	}
	s.contents[cluster], s.hashes[cluster] = contents, content
	return content
}

// carryOut writes one ConfigMap in memory. Labels of others stay, so it stays excluded if it was.
func (p *planner) carryOut(s *simulated, write hubplan.Write) {
	object, exists := p.after[write.Cluster][write.Name]
	switch write.Action {
	case hubplan.Delete:
		delete(p.after[write.Cluster], write.Name)
	case hubplan.Release:
		object.ManagedBy, object.Set, object.SetUID, object.Revision = "", "", "", ""
		s.released = append(s.released, write.Cluster)
		p.after.put(object)
	default:
		written := p.owned(s.Set, s.planned, write, s.contents[write.Cluster][write.Name])
		written.OptedOut = exists && object.OptedOut
		p.after.put(written)
	}
}

// contentOf returns the ConfigMaps of a cluster with a revision, by name.
func (p *planner) contentOf(r revision, values []v1alpha1.Value, cluster string) (map[string]*render.Content, error) {
	program, managed := r.program, p.managed(cluster)
	if known := p.Clusters[cluster]; !p.ClustersRead && (known == nil || known.Managed == nil) {
		program, managed = r.symbolic, symbolicCluster(cluster, values)
	}
	rendered, err := program.Render(managed)
	if err != nil {
		return nil, err
	}
	contents := make(map[string]*render.Content, len(rendered))
	for i := range rendered {
		contents[rendered[i].Name] = &rendered[i]
	}
	return contents, nil
}

// estimate makes the ConfigMaps of the sets those that their sources make now, where it is not known what the clusters have,
// or what their values are.
func (p *planner) estimate() {
	for _, set := range p.changed {
		if set.Live == nil || set.before.hash == "" || p.ObjectsRead && (p.ClustersRead || len(set.Live.Spec.Values)+len(set.After.Spec.Values) == 0) {
			continue
		}
		for cluster := range p.selects(set.Live) {
			contents, err := p.contentOf(set.before, set.Live.Spec.Values, cluster)
			if err != nil || !p.enabled(cluster) {
				continue // the set could not deliver this revision
			}
			maps.DeleteFunc(p.before[cluster], func(_ string, o Object) bool { return o.SetUID == string(set.Live.UID) })
			for name, content := range contents {
				p.before.put(p.owned(set, p.planned(set), hubplan.Write{Cluster: cluster, Name: name, Revision: set.before.hash, Since: p.Now, Content: content.Sum()}, content))
			}
		}
	}
}

// owned returns the object that a write of a set makes.
func (p *planner) owned(set *Set, planned *v1alpha1.ConfigMapReplicaSet, write hubplan.Write, content *render.Content) Object {
	return Object{Contents: content, Object: hubplan.Object{Cluster: write.Cluster, Name: write.Name, UID: write.UID,
		ManagedBy: manifests.ManagedByReplicaSet, Set: set.Key.String(), SetUID: string(planned.UID),
		Revision: write.Revision, Since: write.Since, Content: write.Content, Immutable: content.Immutable}}
}
