package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
)

// minHeld is the number of clusters up to which removals are ordinary work: as with the mirror's
// deletions (docs/design.md#rule-10-removals).
const minHeld = 3

// removal returns the write that removes an object, if it is the set's.
func (p *planner) removal(action Action, object Object) []Write {
	if !object.Owned(p.Set) || object.Deleting {
		return nil
	}
	return []Write{{Action: action, Cluster: object.Cluster, Name: object.Name, UID: object.UID, ResourceVersion: object.ResourceVersion}}
}

// policy returns what the set's deletion policy does.
func (p *planner) policy() Action {
	if p.Set.Spec.DeletionPolicy == v1alpha1.DeletionOrphan {
		return Release
	}
	return Delete
}

// removals plans the removal of what the set does not want any more: the objects on clusters that are
// not selected, and those that an older set claims. While it is not known which clusters are selected, it
// removes nothing. It then also drops HeldRemovals, so that the delay begins anew when all Placements are
// readable: meanwhile another Placement may have selected the clusters again.
func (p *planner) removals() {
	if p.unreadable {
		return
	}
	var clusters []string
	var writes []Write
	has := 0
	for cluster, objects := range p.objects {
		var here []Write
		for _, object := range objects {
			switch {
			case p.claimed(object) != "":
				// The older set creates its own: an object without an owner would be in its way.
				here = append(here, p.removal(Delete, object)...)
			case !p.selected[cluster]:
				here = append(here, p.removal(p.policy(), object)...)
			}
		}
		if len(here) > 0 {
			clusters = append(clusters, cluster)
			writes = append(writes, here...)
		}
		if slices.ContainsFunc(objects, func(o Object) bool { return o.Owned(p.Set) }) {
			has++
		}
	}
	slices.Sort(clusters)
	many := len(clusters) > minHeld && 2*len(clusters) > has
	if len(clusters) > 0 && (many || p.missing) && p.hold(clusters, writes) {
		return
	}
	p.result.Writes = append(p.result.Writes, writes...)
}

// claimed returns the older set that an object's name belongs to on its cluster, or an empty string.
func (p *planner) claimed(object Object) string {
	if p.Claimed == nil {
		return ""
	}
	return p.Claimed(object.Cluster, object.Name)
}

// hold reports whether these removals still have to wait. It keeps when that began.
func (p *planner) hold(clusters []string, writes []Write) bool {
	objects := make([]string, len(writes))
	for i, write := range writes {
		objects[i] = write.Cluster + "/" + write.Name
	}
	slices.Sort(objects)
	// The id is of these objects, and of one hold: a release does not release them the next time.
	id := func(since metav1.Time) string {
		sum := sha256.Sum256([]byte(since.UTC().Format(time.RFC3339) + "\n" + strings.Join(objects, "\n")))
		return hex.EncodeToString(sum[:4])
	}
	before := p.Set.Status.HeldRemovals
	if before == nil || before.ID != id(before.Since) {
		since := metav1.NewTime(p.now)
		before = &v1alpha1.HeldRemovals{ID: id(since), Clusters: int32(len(clusters)), Since: since}
	} else if p.Set.Annotations[manifests.ReleaseAnnotation] == before.ID || !p.Now.Before(before.Since.Add(p.RemovalDelay)) {
		p.held = before
		return false
	}
	p.held, p.holding = before, clusters
	p.recheck(before.Since.Add(p.RemovalDelay))
	return true
}

// finalize plans the removal of everything, and the end of the set when nothing is left. What cannot be
// removed from a cluster without the add-on does not keep the set: the right to write there ended with
// the add-on.
func (p *planner) finalize() {
	left := false
	for cluster, objects := range p.objects {
		_, refused := p.stuck[cluster]
		for _, object := range objects {
			left = left || object.Owned(p.Set) && (!refused || p.Enabled(cluster))
			p.result.Writes = append(p.result.Writes, p.removal(p.policy(), object)...)
		}
	}
	p.sort()
	if !left {
		p.result.Writes = nil
		p.result.RemoveFinalizer = true
	}
	p.degraded(counts{})
}
