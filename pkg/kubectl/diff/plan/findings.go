package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	hubplan "open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/plan"
)

// Effect is what a finding means for the answer.
type Effect string

const (
	// Incomplete: because of it the answer is not complete.
	Incomplete Effect = "Incomplete"
	// Blocked: a change of the file does not reach a cluster.
	Blocked Effect = "Blocked"
	// Note: it explains the answer.
	Note Effect = "Note"
)

// Finding is what is to be known beside the changes.
type Finding struct {
	Effect  Effect `json:"effect"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Clusters are those that it is about, sorted; none if it is about all of them, or about the hub.
	Clusters []string `json:"clusters,omitempty"`
}

// maxOfSets is how many ConfigMaps the agent reports (docs/replicaset.md#limits).
const maxOfSets = 500

// findings are the clusters of each finding.
type findings map[finding]map[string]bool

// finding is a Finding without its clusters.
type finding struct {
	effect          Effect
	reason, message string
}

func (f findings) add(effect Effect, reason, message string, clusters ...string) {
	key := finding{effect, reason, message}
	if f[key] == nil {
		f[key] = map[string]bool{}
	}
	for _, cluster := range clusters {
		f[key][cluster] = true
	}
}

// list returns the findings, those first that a person has to act on.
func (f findings) list() []Finding {
	all := make([]Finding, 0, len(f))
	for key, clusters := range f {
		all = append(all, Finding{Effect: key.effect, Reason: key.reason, Message: key.message, Clusters: sorted(clusters)})
	}
	order := []Effect{Incomplete, Blocked, Note}
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Effect), slices.Index(order, b.Effect)), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	return all
}

func sorted(names map[string]bool) []string { return slices.Sorted(maps.Keys(names)) }

// explainSets finds what is to be known of sets that are not simulated.
func (p *planner) explainSets() {
	for _, set := range p.Sets {
		name := "ConfigMapReplicaSet " + set.Key.String()
		switch {
		case set.Failure != nil:
			p.findings.add(Incomplete, set.Failure.Reason, name+": "+set.Failure.Message)
		case set.changed || set.Live == nil || !p.touched(set):
		case set.Live.DeletionTimestamp != nil:
			p.findings.add(Note, "Deleting", name+" is being deleted: it writes nothing any more")
		default:
			if rolledOut := meta.FindStatusCondition(set.Live.Status.Conditions, v1alpha1.ConditionRolledOut); rolledOut != nil && rolledOut.Status != "True" {
				p.findings.add(Note, "NotRolledOut", fmt.Sprintf("%s: the files do not change what it delivers, and its rollout is not complete (%s)", name, rolledOut.Reason))
			}
		}
	}
}

// explainSimulated finds what keeps the revision of a set from clusters, and how the clusters get it.
func (p *planner) explainSimulated(s *simulated) {
	name := "ConfigMapReplicaSet " + s.Key.String()
	if s.after.problem != "" {
		p.findings.add(Blocked, "SourcesInvalid", fmt.Sprintf("%s: %s: no further cluster gets a revision, and the clusters keep theirs", name, s.after.problem))
	}
	for _, placement := range placementNames(s.After) {
		p.explainPlacement(name, Key{Namespace: s.Namespace, Name: placement})
	}
	if s.after.hash != "" && s.after.hash != s.before.hash {
		p.explainSteps(name, s)
	}
	for cluster := range s.selected {
		switch {
		case !p.Chosen.has(cluster, p.Clusters[cluster]):
		case p.enabled(cluster):
			p.concerned[cluster] = true
			p.explainObstacle(name, s, cluster)
		default:
			reason, message := p.disabled(cluster)
			p.findings.add(Note, reason, fmt.Sprintf("%s: %s", name, message), cluster)
		}
	}
	p.chosen(Note, "RemovalHeld", name+": the controller holds these removals for 10 minutes (--mass-removal-delay), because they are many, or a Placement selects nothing", s.held)
	p.chosen(Note, "Left", name+": what it wrote stays, as ConfigMaps that belong to no set (deletionPolicy: Orphan)", s.released)
}

// chosen adds a finding for those of the clusters that the diff is narrowed to.
func (p *planner) chosen(effect Effect, reason, message string, clusters []string) {
	for _, cluster := range clusters {
		if p.Chosen.has(cluster, p.Clusters[cluster]) {
			p.findings.add(effect, reason, message, cluster)
		}
	}
}

func (p *planner) explainPlacement(name string, key Key) {
	placement := p.Placements[key]
	switch {
	case placement.Gone && p.File.Placements[key]:
		p.findings.add(Incomplete, "PlacementNotFound", fmt.Sprintf("%s: Placement %s is in the files and not on the hub: which clusters it selects is known once it is applied", name, key.Name))
	case placement.Gone:
		p.findings.add(Incomplete, "PlacementNotFound", fmt.Sprintf("%s: Placement %s does not exist on the hub: its clusters are not known", name, key.Name))
	case !placement.Readable:
		p.findings.add(Incomplete, "PlacementNotReadable", fmt.Sprintf("%s: Placement %s is not readable: %s: its clusters are not known", name, key.Name, placement.Problem))
	case p.File.Placements[key]:
		p.findings.add(Note, "PlacementInFile", fmt.Sprintf("%s: Placement %s is in the files, too: the diff is for the clusters that it selects now", name, key.Name))
	}
}

// explainSteps finds that the clusters do not get a revision at once, or that the rollout stops because of what is known now.
func (p *planner) explainSteps(name string, s *simulated) {
	spec := s.After.Spec
	if spec.Paused {
		p.findings.add(Note, "Paused", name+" is paused: no cluster gets this before it is resumed; the diff shows the end")
	}
	in := p.inputs(s, p.applied)
	in.Set = s.planned.DeepCopy()
	in.Set.Spec.PlacementRefs = spec.PlacementRefs
	stopped := hubplan.Plan(in).Stopped
	for _, why := range stopped {
		p.findings.add(Blocked, "Stopped", fmt.Sprintf("%s: %s: the diff shows what the clusters get once that is repaired", name, why))
	}
	var kinds []string
	for _, ref := range spec.PlacementRefs {
		if kind := ref.RolloutStrategy.Type; kind != "" && kind != clusterv1alpha1.All && !slices.Contains(kinds, string(kind)) {
			kinds = append(kinds, string(kind))
		}
	}
	if len(kinds) > 0 && len(stopped) == 0 {
		p.findings.add(Note, "InSteps", fmt.Sprintf("%s: the clusters get this in steps (%s), which may stop; the diff shows the end", name, strings.Join(kinds, ", ")))
	}
}

// explainObstacle finds why a selected cluster does not get the revision of a set, and whether it has the present one.
func (p *planner) explainObstacle(name string, s *simulated, cluster string) {
	if obstacle := s.obstacles[cluster]; obstacle != "" {
		reason := "Conflict"
		if s.hashes[cluster].Problem != "" {
			reason = "NotPossible"
		}
		p.findings.add(Blocked, reason, name+": "+obstacle, cluster)
		return
	}
	if s.Live == nil || s.before.hash == "" {
		return
	}
	for _, object := range p.before[cluster] {
		if object.Owned(s.planned) && object.Revision != s.before.hash {
			p.findings.add(Note, "Pending", name+": the present revision is not there yet: the diff includes what is missing of it", cluster)
			return
		}
	}
}

// tooMany finds clusters with more ConfigMaps of sets than the agent reports.
func (p *planner) tooMany() {
	for cluster, known := range p.Clusters {
		number := known.OfSets
		for _, object := range p.before[cluster] {
			if object.SetUID != "" {
				number--
			}
		}
		for _, object := range p.after[cluster] {
			if object.SetUID != "" {
				number++
			}
		}
		if number > maxOfSets && number > known.OfSets && p.Chosen.has(cluster, known) {
			p.findings.add(Note, "TooMany", fmt.Sprintf("there are more than %d ConfigMaps of sets: the agent reports no more, so a rollout does not end", maxOfSets), cluster)
		}
	}
}
