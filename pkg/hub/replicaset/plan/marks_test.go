package plan

import (
	"maps"
	"slices"
	"time"
)

// checkSince fails the test if a ConfigMap gets another time than that at which the cluster was given the revision.
func (w *world) checkSince(in Inputs, write Write) {
	if write.Revision == "" {
		return
	}
	want := []time.Time{in.Now}
	for _, refusal := range in.Refusals {
		if refusal.Cluster == write.Cluster && refusal.Revision == write.Revision {
			want = append(want, refusal.Since)
		}
	}
	for _, object := range in.Objects {
		if object.Cluster == write.Cluster && object.Name == write.Name && object.Revision == write.Revision && !object.Since.IsZero() {
			want = []time.Time{object.Since}
		}
	}
	if !slices.ContainsFunc(want, write.Since.Equal) {
		w.fail("%v gets the time %v, want one of %v", write, write.Since, want)
	}
}

// checkUpdated fails the test if a cluster with parts of another revision is counted as updated.
func (w *world) checkUpdated(in Inputs, result Result) {
	want, seen := int32(0), map[string]bool{}
	for _, ref := range in.Set.Spec.PlacementRefs {
		placement := in.Placements[ref.Name]
		if result.AddFinalizer || !placement.Gone && !placement.Readable {
			return
		}
		for _, group := range placement.Groups {
			for _, cluster := range group.Clusters {
				if !seen[cluster] && in.Enabled(cluster) && whollyAt(in, cluster, result.Status.UpdatedRevision) {
					want++
				}
				seen[cluster] = true
			}
		}
	}
	if got := result.Status.Summary.Updated; got != want {
		w.fail("%d clusters are counted as updated, want %d", got, want)
	}
}

// whollyAt reports whether a cluster has each ConfigMap of a revision with its time, and no other of the set.
func whollyAt(in Inputs, cluster, revision string) bool {
	missing := maps.Clone(in.Content(cluster, revision).Hashes)
	some := len(missing) > 0
	for _, object := range in.Objects {
		if object.Cluster != cluster || !object.Owned(in.Set) {
			continue
		}
		if _, wanted := missing[object.Name]; !wanted || object.Revision != revision || object.Since.IsZero() {
			return false
		}
		delete(missing, object.Name)
	}
	return some && len(missing) == 0
}
