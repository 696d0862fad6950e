// Package plan decides what a ConfigMapReplicaSet needs: which ConfigMap is written to which cluster
// with which revision, what is removed, and what the status tells. Plan is a function of values; its
// caller reads the objects and carries out the writes.
//
// A cluster gets a revision as a whole: nothing is written if a part of it cannot be, as far as that is
// known before. Which one, in this order:
//
//	the cluster                                                  gets
//	has an object with the updated revision, or may start now    the updated revision
//	has other objects of the set                                 the latest revision among them
//	has none                                                     the current revision, if there is one, and it is
//	                                                             not the updated one or the rollout is halted
//
// The updated revision is the stored one with the highest number, the current one the last that reached
// every cluster. Whether a cluster may start is decided by package steps. Nothing is remembered between
// two plans except in objects: the revision and its time on each ConfigMap, the report of each cluster,
// the number of each revision, and the status of the set.
//
// Rules that are not obvious:
//
//   - A rollout is halted while it is paused or stopped, its strategy or its sources are invalid, or the
//     sources have another content than the updated revision, which is stored first: the user may just have
//     repaired them.
//   - A Placement that is not readable removes nothing, and nothing starts in the Placements after it,
//     because its clusters may be among theirs.
//   - Removals are held when they concern more than half of the clusters and more than three, or when a
//     Placement is gone or selects no cluster. The hold stands in status.heldRemovals. It begins anew when
//     other objects are to be removed, because it is about exactly those that it was begun for.
//   - A set that is being deleted removes all its objects at once, without reading a Placement: its user
//     deleted it.
//   - A cluster without the add-on is counted in total only. Its objects stay as they are.
//   - A failure that is known before the cluster is reached counts at once: a missing label stops the
//     rollout before the first cluster, if no failure is tolerated.
//   - What cannot be written by the set itself is tried again by nothing but a change: a missing label, a
//     ConfigMap of another owner. What the API server refuses is planned again, and the caller backs off.
//   - When an object is written again with the revision that it has, its time stays; so a change of a
//     cluster's label is not a step of the rollout.
package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/steps"
)

// planner holds the inputs of one plan, indexed, and its intermediate results.
type planner struct {
	Inputs
	// now is Now in the precision of stored times.
	now time.Time
	// updated and current are revisions, or empty. numbers are those of the stored revisions.
	updated, current string
	numbers          map[string]int64
	objects          map[string][]Object
	// refused are the refused writes of the updated revision by cluster, stuck the refused removals.
	refused, stuck map[string]Refusal

	rollouts   []rollout
	selected   map[string]bool
	unreadable bool
	// missing reports that a Placement is gone or selects no cluster.
	missing bool
	// unresolved, invalid and stopped have a sentence for each Placement that is not readable or gone, whose
	// strategy is invalid, and whose rollout stopped.
	unresolved, invalid, stopped []string
	// held is the record of held removals, or nil. holding are their clusters while they wait.
	held    *v1alpha1.HeldRemovals
	holding []string
	result  Result
}

// rollout is the state of one Placement.
type rollout struct {
	name     string
	readable bool
	groups   []steps.Group
	members  map[string]*member
	// start are the clusters that may get the updated revision now.
	start map[string]bool
	// halted reports that no cluster starts before something else changes.
	halted bool
}

// Plan returns what has to be done for a set now. The same inputs have the same result.
func Plan(in Inputs) Result {
	p := &planner{Inputs: in, now: in.Now.UTC().Truncate(time.Second), numbers: map[string]int64{},
		objects: make(map[string][]Object, len(in.Objects)), refused: map[string]Refusal{}, stuck: map[string]Refusal{}, selected: map[string]bool{}}
	p.result.Status = *in.Set.Status.DeepCopy()
	p.index()
	p.revisions()
	hasFinalizer := slices.Contains(in.Set.Finalizers, manifests.ReplicaSetFinalizer)
	if in.Set.DeletionTimestamp != nil {
		if hasFinalizer {
			p.finalize()
		}
		return p.result
	}
	if !hasFinalizer {
		p.result.AddFinalizer = true
		return p.result
	}
	if p.Desired != "" && p.Desired != p.updated {
		p.result.StoreRevision = &Revision{Name: p.Desired, Number: p.numbers[p.updated] + 1}
	}
	for _, ref := range in.Set.Spec.PlacementRefs {
		p.rollout(ref)
	}
	p.result.Stopped = slices.Concat(p.invalid, p.stopped)
	p.removals()
	p.sort()
	p.status()
	p.history()
	return p.result
}

// sort sorts the writes by cluster, and on a cluster removals after the rest.
func (p *planner) sort() {
	removal := func(w Write) int {
		if w.Action == Delete || w.Action == Release {
			return 1
		}
		return 0
	}
	slices.SortFunc(p.result.Writes, func(a, b Write) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(removal(a), removal(b)), cmp.Compare(a.Name, b.Name))
	})
}

// index sorts the objects of each cluster by name, and the revisions by number.
func (p *planner) index() {
	for _, object := range p.Objects {
		p.objects[object.Cluster] = append(p.objects[object.Cluster], object)
	}
	for _, objects := range p.objects {
		slices.SortFunc(objects, func(a, b Object) int { return cmp.Compare(a.Name, b.Name) })
	}
	for _, revision := range p.Revisions {
		p.numbers[revision.Name] = revision.Number
	}
}

// revisions finds the updated and the current revision, and the refusals that matter now.
func (p *planner) revisions() {
	for _, revision := range p.Revisions {
		if p.updated == "" || p.later(revision.Name, p.updated) {
			p.updated = revision.Name
		}
	}
	if current := p.Set.Status.CurrentRevision; p.stored(current) {
		p.current = current
	}
	for _, refusal := range p.Refusals {
		switch {
		case refusal.Revision == "":
			p.stuck[refusal.Cluster] = first(p.stuck, refusal)
		case refusal.Revision == p.updated:
			p.refused[refusal.Cluster] = first(p.refused, refusal)
		}
	}
}

// first returns the earlier of a refusal and the one that the cluster has.
func first(refusals map[string]Refusal, refusal Refusal) Refusal {
	before, ok := refusals[refusal.Cluster]
	if ok && (before.Since.Before(refusal.Since) || before.Since.Equal(refusal.Since) && before.Message < refusal.Message) {
		return before
	}
	return refusal
}

func (p *planner) stored(revision string) bool {
	_, stored := p.numbers[revision]
	return stored
}

// later reports whether revision a was stored after b. A revision that is not stored is the earliest.
func (p *planner) later(a, b string) bool {
	if p.numbers[a] != p.numbers[b] {
		return p.numbers[a] > p.numbers[b]
	}
	return a > b
}

// rollout plans the writes to the clusters of a Placement.
func (p *planner) rollout(ref v1alpha1.PlacementReference) {
	placement := p.Placements[ref.Name]
	r := rollout{name: ref.Name, readable: placement.Readable || placement.Gone, members: map[string]*member{}, start: map[string]bool{}}
	switch {
	case placement.Gone:
		p.unresolved = append(p.unresolved, "Placement "+ref.Name+" does not exist")
	case !placement.Readable:
		p.unreadable = true
		p.unresolved = append(p.unresolved, strings.TrimSuffix("Placement "+ref.Name+" is not readable: "+placement.Problem, ": "))
		p.rollouts = append(p.rollouts, r)
		return
	}
	selects := false
	for _, group := range placement.Groups {
		selects = selects || len(group.Clusters) > 0
		own := steps.Group{Name: group.Name, Index: group.Index}
		for _, cluster := range group.Clusters {
			if p.selected[cluster] {
				continue
			}
			p.selected[cluster] = true
			own.Clusters = append(own.Clusters, cluster)
			r.members[cluster] = p.member(cluster)
			p.obstruct(r.members[cluster])
		}
		r.groups = append(r.groups, own)
	}
	slices.SortStableFunc(r.groups, func(a, b steps.Group) int { return cmp.Compare(a.Index, b.Index) })
	p.missing = p.missing || !selects
	p.decide(&r, ref)
	for _, group := range r.groups {
		for _, cluster := range group.Clusters {
			p.deliver(r.members[cluster], p.revision(r.members[cluster], &r))
		}
	}
	p.rollouts = append(p.rollouts, r)
}

// obstruct records why a cluster cannot get the updated revision.
func (p *planner) obstruct(m *member) {
	if m.obstacle == "" {
		return
	}
	if p.result.Obstacles == nil {
		p.result.Obstacles = map[string]string{}
	}
	p.result.Obstacles[m.cluster] = m.obstacle
}

// decide finds the clusters of the Placement's next step.
func (p *planner) decide(r *rollout, ref v1alpha1.PlacementReference) {
	decision, err := steps.Decide(ref.RolloutStrategy, r.groups, func(cluster string) steps.State { return r.members[cluster].state }, p.Now)
	switch {
	case err != nil:
		r.halted = true
		p.invalid = append(p.invalid, fmt.Sprintf("rolloutStrategy of Placement %s: %v", ref.Name, err))
	case decision.Stopped != "":
		r.halted = true
		p.stopped = append(p.stopped, fmt.Sprintf("the rollout to Placement %s stopped: %s", ref.Name, decision.Stopped))
	case p.Set.Spec.Paused || p.Desired != p.updated:
		// The sources have another content, which is stored first, or they are invalid.
		r.halted = true
	case !p.unreadable:
		for _, cluster := range decision.Start {
			r.start[cluster] = true
		}
	}
	for _, cluster := range decision.TimedOut {
		r.members[cluster].timedOut = true
	}
	p.recheck(decision.Recheck)
}

// recheck makes the next plan be at this time at the latest, unless it is zero.
func (p *planner) recheck(at time.Time) {
	if !at.IsZero() && (p.result.Recheck.IsZero() || at.Before(p.result.Recheck)) {
		p.result.Recheck = at
	}
}

// history finds the revisions that are neither in use nor among the latest ones to keep.
func (p *planner) history() {
	used := map[string]bool{p.updated: true, p.result.Status.CurrentRevision: true, p.Desired: true}
	for _, objects := range p.objects {
		for _, object := range objects {
			used[object.Revision] = true
		}
	}
	var unused []string
	for revision := range p.numbers {
		if !used[revision] {
			unused = append(unused, revision)
		}
	}
	slices.SortFunc(unused, func(a, b string) int {
		if p.later(a, b) {
			return -1
		}
		return 1
	})
	limit := 10
	if p.Set.Spec.RevisionHistoryLimit != nil {
		limit = max(0, int(*p.Set.Spec.RevisionHistoryLimit))
	}
	if len(unused) > limit {
		p.result.DeleteRevisions = unused[limit:]
	}
}
