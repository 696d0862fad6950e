package plan

import (
	"flag"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
)

// check fails the test if a plan breaks a promise. It computes what is in progress in its own way.
func (w *world) check(in Inputs, result Result) {
	seen, revisions := map[string]bool{}, map[string]string{}
	last := ""
	for _, write := range result.Writes {
		if before, ok := revisions[write.Cluster]; ok && write.Revision != "" && write.Revision != before {
			w.fail("writes of %s and %s to %s in one plan", before, write.Revision, write.Cluster)
		} else if write.Revision != "" {
			revisions[write.Cluster] = write.Revision
		}
		w.checkSince(in, write)
		if write.Cluster != last && seen[write.Cluster] {
			w.fail("the writes to %s are not in one piece: %v", write.Cluster, result.Writes)
		}
		seen[write.Cluster], last = true, write.Cluster
	}
	if in.Set.DeletionTimestamp != nil {
		return
	}
	if len(result.Writes) > 0 && !slices.Contains(in.Set.Finalizers, manifests.ReplicaSetFinalizer) {
		w.fail("writes without a finalizer: %v", result.Writes)
	}
	w.checkRemovals(in, result)
	w.checkStarts(in, result)
	w.checkUpdated(in, result)
}

// checkRemovals fails the test if clusters lose their objects at once that should be held.
func (w *world) checkRemovals(in Inputs, result Result) {
	selected, unreadable, missing := map[string]bool{}, false, false
	for _, ref := range in.Set.Spec.PlacementRefs {
		placement := in.Placements[ref.Name]
		unreadable = unreadable || !placement.Gone && !placement.Readable
		all := 0
		for _, group := range placement.Groups {
			for _, cluster := range group.Clusters {
				all++
				selected[cluster] = true
			}
		}
		missing = missing || all == 0
	}
	has, leave, removed := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, object := range in.Objects {
		if object.Owned(in.Set) {
			has[object.Cluster] = true
			if !selected[object.Cluster] || in.Claimed(object.Cluster, object.Name) != "" {
				leave[object.Cluster+"/"+object.Name] = true
			}
		}
	}
	for _, write := range result.Writes {
		if (write.Action == Delete || write.Action == Release) && !selected[write.Cluster] {
			removed[write.Cluster] = true
		}
	}
	if unreadable && len(removed) > 0 {
		w.fail("removals from %v while a Placement is not readable", removed)
	}
	w.stays = nil
	for object := range w.leaving {
		if !leave[object] {
			w.stays = append(w.stays, object)
		}
	}
	for object := range leave {
		if _, known := w.leaving[object]; !known {
			w.leaving[object] = w.now
		}
	}
	held := in.Set.Status.HeldRemovals
	released := held != nil && in.Set.Annotations[manifests.ReleaseAnnotation] == held.ID
	if !released && len(removed) > 0 && (missing || len(removed) > 3 && 2*len(removed) > len(has)) {
		if held == nil || w.now.Sub(held.Since.Time) < testDelay {
			w.fail("removals from %v without a hold: %+v", removed, held)
		}
		for _, write := range result.Writes {
			object := write.Cluster + "/" + write.Name
			if removed[write.Cluster] && len(w.controllers) == 1 && w.now.Sub(w.leaving[object]) < testDelay {
				w.fail("removal of %s, which was wanted %v ago", object, w.now.Sub(w.leaving[object]))
			}
		}
	}
}

// Where a cluster is in a rollout.
const (
	skipped = iota
	waiting
	flying
	failedFlying
	failed
	finished
)

// where returns where a cluster is.
func where(in Inputs, cluster, updated, deadline string, soak time.Duration) int {
	content := in.Content(cluster, updated)
	var at []time.Time
	foreign, other := false, false
	for name := range content.Hashes {
		foreign = foreign || in.Claimed(cluster, name) != ""
	}
	for _, object := range in.Objects {
		if object.Cluster != cluster {
			continue
		}
		_, wanted := content.Hashes[object.Name]
		switch {
		case !object.Owned(in.Set):
			foreign = foreign || wanted
		case object.Revision == updated && wanted:
			at = append(at, object.Since)
		default:
			other = true
		}
	}
	over := func(since time.Time) bool { return deadline != "None" && !in.Now.Before(since.Add(time.Minute)) }
	switch {
	case !in.Enabled(cluster):
		return skipped
	case content.Problem != "" || foreign:
		return failed
	}
	for _, refusal := range in.Refusals {
		if refusal.Cluster == cluster && refusal.Revision == updated {
			if over(refusal.Since) {
				return failed
			}
			return failedFlying
		}
	}
	switch {
	case len(at) == 0:
		return waiting
	case other || len(at) < len(content.Hashes):
		return flying
	}
	since := slices.MaxFunc(at, time.Time.Compare)
	success, synced, bad := since, 0, false
	for _, entry := range in.Reports[cluster] {
		if _, wanted := content.Hashes[entry.Name]; wanted && entry.Revision == updated {
			if entry.State == v1alpha1.MirrorSynced {
				synced++
				if entry.Since.After(success) {
					success = entry.Since.Time
				}
			} else {
				bad = true
			}
		}
	}
	switch {
	case bad && over(since):
		return failed
	case bad:
		return failedFlying
	case synced == len(content.Hashes) && !in.Now.Before(success.Add(soak)):
		return finished
	case synced < len(content.Hashes) && over(since):
		return failed
	}
	return flying
}

// checkStarts fails the test if a cluster is started that the strategy does not allow.
func (w *world) checkStarts(in Inputs, result Result) {
	updated := Revision{Number: -1}
	for _, revision := range in.Revisions {
		if revision.Number > updated.Number || revision.Number == updated.Number && revision.Name > updated.Name {
			updated = revision
		}
	}
	starts := map[string]bool{}
	for _, write := range result.Writes {
		if write.Revision != "" && write.Revision == updated.Name && !slices.ContainsFunc(in.Objects, func(o Object) bool {
			return o.Cluster == write.Cluster && o.Owned(in.Set) && o.Revision == updated.Name
		}) && !slices.ContainsFunc(in.Refusals, func(r Refusal) bool { return r.Cluster == write.Cluster && r.Revision == updated.Name }) {
			starts[write.Cluster] = true
		}
	}
	w.count("starts of a cluster", len(starts))
	// What has reached every cluster is also given to those that join while the rollout is halted.
	reached := in.Set.Status.CurrentRevision == updated.Name
	if in.Set.Spec.Paused || in.Desired != updated.Name {
		if len(starts) > 0 && !reached {
			w.fail("starts %v while paused %v, and the sources have %q", starts, in.Set.Spec.Paused, in.Desired)
		}
		return
	}
	seen := map[string]bool{}
	for _, ref := range in.Set.Spec.PlacementRefs {
		placement := in.Placements[ref.Name]
		var groups [][]string
		for _, group := range placement.Groups {
			var own []string
			for _, cluster := range group.Clusters {
				if !seen[cluster] {
					own = append(own, cluster)
				}
				seen[cluster] = true
			}
			groups = append(groups, own)
		}
		w.checkPlacement(in, ref.RolloutStrategy, groups, updated.Name, reached, starts)
		if !placement.Gone && !placement.Readable {
			break
		}
	}
	if len(starts) > 0 {
		w.fail("starts of clusters that are not selected, or of a Placement after one that is not readable: %v", starts)
	}
}

// checkPlacement checks the starts in the groups of a Placement, and takes them out of starts.
func (w *world) checkPlacement(in Inputs, strategy clusterv1alpha1.RolloutStrategy, groups [][]string, updated string, reached bool, starts map[string]bool) {
	var config clusterv1alpha1.RolloutConfig
	var mandatory int
	concurrency := len(w.clusters)
	switch {
	case strategy.Progressive != nil:
		config, mandatory = strategy.Progressive.RolloutConfig, len(strategy.Progressive.MandatoryDecisionGroups.MandatoryDecisionGroups)
		concurrency = strategy.Progressive.MaxConcurrency.IntValue()
		var rest []string
		for _, group := range groups[min(mandatory, len(groups)):] {
			rest = append(rest, group...)
		}
		groups = append(slices.Clone(groups[:min(mandatory, len(groups))]), rest)
	case strategy.ProgressivePerGroup != nil:
		config, mandatory = strategy.ProgressivePerGroup.RolloutConfig, len(strategy.ProgressivePerGroup.MandatoryDecisionGroups.MandatoryDecisionGroups)
	default:
		for _, group := range groups {
			for _, cluster := range group {
				delete(starts, cluster)
			}
		}
		return
	}
	counts := make([]map[int]int, len(groups))
	stopped := false
	for i, group := range groups {
		counts[i] = map[int]int{}
		for _, cluster := range group {
			counts[i][where(in, cluster, updated, config.ProgressDeadline, config.MinSuccessTime.Duration)]++
		}
		tolerated := config.MaxFailures.IntValue()
		if i < mandatory {
			tolerated = 0
		}
		stopped = stopped || counts[i][failed]+counts[i][failedFlying] > tolerated
	}
	open := ""
	for i, group := range groups {
		tolerated, limit := config.MaxFailures.IntValue(), concurrency
		if i < mandatory {
			tolerated, limit = 0, len(w.clusters)
		}
		count := counts[i]
		started := 0
		for _, cluster := range group {
			if starts[cluster] {
				started++
				delete(starts, cluster)
			}
		}
		failures := count[failed] + count[failedFlying]
		inFlight := count[flying] + count[failedFlying]
		switch {
		case reached && stopped:
		case started > 0 && open != "":
			w.fail("starts %d clusters of group %d before an earlier one is done: %s", started, i, open)
		case started > 0 && failures > tolerated:
			w.fail("starts %d clusters of group %d though %d failed", started, i, failures)
		case started > 0 && inFlight+started > limit:
			w.fail("starts %d clusters with %d in progress, allowed are %d", started, inFlight, limit)
		}
		if count[waiting]+count[flying] > 0 || failures > tolerated {
			open = fmt.Sprintf("group %d %v", i, count)
		}
	}
}

// checkMix fails the test if a cluster has parts of two revisions after a whole pass, unless nothing of
// the set may be written there.
func (w *world) checkMix(in Inputs) {
	selected := map[string]bool{}
	for _, placement := range in.Placements {
		for _, group := range placement.Groups {
			for _, cluster := range group.Clusters {
				selected[cluster] = true
			}
		}
	}
	has := map[string]string{}
	for _, object := range w.hub.objects {
		if !object.Owned(w.hub.set) || !selected[object.Cluster] || !in.Enabled(object.Cluster) || in.Set.DeletionTimestamp != nil {
			continue
		}
		before, ok := has[object.Cluster]
		has[object.Cluster] = object.Revision
		if !ok || before == object.Revision {
			continue
		}
		obstructed := false
		for _, other := range in.Objects {
			obstructed = obstructed || other.Cluster == object.Cluster && !other.Owned(in.Set)
		}
		for _, name := range []string{"a", "b", "c"} {
			obstructed = obstructed || in.Claimed(object.Cluster, name) != ""
		}
		for _, revision := range []string{before, object.Revision} {
			obstructed = obstructed || in.Content(object.Cluster, revision).Problem != ""
		}
		if !obstructed {
			w.fail("%s has parts of %s and %s", object.Cluster, before, object.Revision)
		}
	}
}

// settle ends the history: everything that fails is repaired, all caches are up to date, and time passes.
// It returns the last result.
func (w *world) settle() Result {
	w.logf("settle")
	w.offline, w.failing, w.refusing = map[string]bool{}, map[string]string{}, map[string]bool{}
	w.hub.unlabelled, w.hub.claimed, w.hub.broken, w.hub.set.Spec.Paused = map[string]bool{}, map[string]bool{}, false, false
	for name, placement := range w.hub.placements {
		if !placement.Readable && !placement.Gone {
			w.hub.placements[name] = w.placement()
		}
	}
	for key, object := range w.hub.objects {
		if !object.Owned(w.hub.set) {
			delete(w.hub.objects, key)
		}
	}
	var result Result
	quiet := false
	for range 100 {
		wasQuiet := quiet
		quiet = true
		for _, c := range w.controllers {
			c.refusals = map[string]Refusal{}
			version := w.hub.version
			result = w.pass(c, false)
			quiet = quiet && len(result.Writes) == 0 && version == w.hub.version && result.Recheck.IsZero()
		}
		for _, cluster := range w.clusters {
			w.agent(cluster)
		}
		if quiet && wasQuiet {
			return result
		}
		w.now = w.now.Add(30 * time.Second)
	}
	w.fail("does not settle: %v", result.Writes)
	return result
}

// checkEnd fails the test unless the hub is as the set wants it, and stays so without a write.
func (w *world) checkEnd(result Result) {
	selected := map[string]bool{}
	for _, ref := range w.hub.set.Spec.PlacementRefs {
		for _, group := range w.hub.placements[ref.Name].Groups {
			for _, cluster := range group.Clusters {
				selected[cluster] = true
			}
		}
	}
	deleted := w.hub.set.DeletionTimestamp != nil
	if deleted && len(w.hub.set.Finalizers) > 0 {
		w.fail("the set is not released")
	}
	updated := fmt.Sprintf("r%d", w.hub.source)
	want, got := map[string]string{}, map[string]string{}
	for _, cluster := range w.clusters {
		if selected[cluster] && !w.hub.disabled[cluster] && !deleted {
			for name, hash := range w.hub.content(cluster, updated).Hashes {
				want[cluster+"/"+name] = updated + " " + hash
			}
		}
	}
	for key, object := range w.hub.objects {
		// What stands on a cluster without the add-on stays as it is, and does not keep a deleted set.
		if object.Owned(w.hub.set) && (!w.hub.disabled[object.Cluster] || !deleted && !selected[object.Cluster]) {
			got[key] = object.Revision + " " + object.Content
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.fail("the end is not what the set wants (-want +got):\n%s", diff)
	}
	if deleted {
		return
	}
	resolved := meta.IsStatusConditionTrue(result.Status.Conditions, v1alpha1.ConditionPlacementsResolved)
	if resolved && !meta.IsStatusConditionTrue(result.Status.Conditions, v1alpha1.ConditionRolledOut) {
		w.fail("not rolled out: %+v", result.Status.Conditions)
	}
	for _, c := range w.controllers {
		w.refresh(c, true)
		w.now = w.now.Add(time.Hour)
		if idle := Plan(w.inputs(c)); len(idle.Writes)+len(idle.DeleteRevisions)+len(idle.Events) > 0 || idle.StoreRevision != nil || idle.AddFinalizer ||
			!idle.Recheck.IsZero() || !reflect.DeepEqual(idle.Status, w.hub.set.Status) {
			w.fail("not idle: %+v\n%s", idle, cmp.Diff(w.hub.set.Status, idle.Status))
		}
	}
}

// history plays one history, and adds what happened to counts.
func history(t *testing.T, c *chance, length int, counts map[string]int) {
	t.Helper()
	w := newWorld(t, c)
	w.counts = counts
	for range length {
		w.event()
	}
	w.checkEnd(w.settle())
}

var histories = flag.Int("histories", 2000, "how many random histories TestModel plays")

// TestModel plays random histories. Run more with go test -run TestModel -histories 100000.
func TestModel(t *testing.T) {
	seed, counts := 0, map[string]int{}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
		t.Logf("%d histories: %v", seed, counts)
	})
	for ; seed < *histories; seed++ {
		history(t, &chance{random: rand.New(rand.NewSource(int64(seed)))}, 120, counts)
	}
}

// FuzzPlan plays histories that the fuzzer chooses.
func FuzzPlan(f *testing.F) {
	f.Add([]byte{5, 1, 0, 0, 1, 2, 3, 23, 8, 1, 23, 4, 4})
	f.Fuzz(func(t *testing.T, data []byte) {
		history(t, &chance{bytes: data}, min(len(data), 200), map[string]int{})
	})
}
