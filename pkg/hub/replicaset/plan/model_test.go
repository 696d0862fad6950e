package plan

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/steps"
)

const (
	testDelay = 10 * time.Minute
	setKey    = "team/settings"
	setUID    = "uid"
)

// controller is one process: its caches, and what it remembers.
type controller struct {
	view     hub
	refusals map[string]Refusal
}

// world is the hub, its clusters and its controllers.
type world struct {
	*chance
	t           *testing.T
	hub         hub
	now         time.Time
	clusters    []string
	controllers []*controller
	offline     map[string]bool
	failing     map[string]string // cluster → the revision that fails there
	refusing    map[string]bool
	restore     map[string]Placement
	serial      int
	log         []func() string
	// leaving is since when each object is to be removed in every plan of the only controller whose status
	// was stored. stays are the objects that the last plan does not remove.
	leaving map[string]time.Time
	stays   []string
	// counts are what has happened, for the figures of TestModel.
	counts map[string]int
}

func newWorld(t *testing.T, c *chance) *world {
	t.Helper()
	w := &world{chance: c, t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), offline: map[string]bool{}, failing: map[string]string{},
		refusing: map[string]bool{}, restore: map[string]Placement{}, leaving: map[string]time.Time{}}
	for i := range 3 + w.below(6) {
		w.clusters = append(w.clusters, fmt.Sprintf("c%d", i))
	}
	set := &v1alpha1.ConfigMapReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "settings", UID: setUID, Annotations: map[string]string{}}}
	set.Spec.DeletionPolicy = pick(c, v1alpha1.DeletionDelete, v1alpha1.DeletionDelete, v1alpha1.DeletionOrphan)
	limit := int32(w.below(3))
	set.Spec.RevisionHistoryLimit = &limit
	w.hub = hub{set: set, revisions: map[string]int64{}, placements: map[string]Placement{}, objects: map[string]Object{},
		reports: map[string][]v1alpha1.MirroredConfigMap{}, disabled: map[string]bool{}, labels: map[string]int{}, unlabelled: map[string]bool{}, claimed: map[string]bool{}}
	for _, name := range []string{"p", "q"}[:1+w.below(2)] {
		set.Spec.PlacementRefs = append(set.Spec.PlacementRefs, v1alpha1.PlacementReference{Name: name, RolloutStrategy: w.strategy()})
		w.hub.placements[name] = w.placement()
	}
	for range 1 + w.below(2) {
		w.controllers = append(w.controllers, &controller{view: w.hub.clone(), refusals: map[string]Refusal{}})
	}
	return w
}

func (w *world) strategy() clusterv1alpha1.RolloutStrategy {
	config := clusterv1alpha1.RolloutConfig{ProgressDeadline: pick(w.chance, "None", "60s"), MaxFailures: intstr.FromInt32(int32(w.below(3))),
		MinSuccessTime: metav1.Duration{Duration: time.Duration(w.below(2)) * 30 * time.Second}}
	var mandatory clusterv1alpha1.MandatoryDecisionGroups
	if w.oneIn(3) {
		mandatory.MandatoryDecisionGroups = []clusterv1alpha1.MandatoryDecisionGroup{{GroupIndex: 0}}
	}
	switch w.below(3) {
	case 0:
		return clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.Progressive, Progressive: &clusterv1alpha1.RolloutProgressive{
			RolloutConfig: config, MandatoryDecisionGroups: mandatory, MaxConcurrency: intstr.FromInt32(int32(1 + w.below(3)))}}
	case 1:
		return clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.ProgressivePerGroup, ProgressivePerGroup: &clusterv1alpha1.RolloutProgressivePerGroup{
			RolloutConfig: config, MandatoryDecisionGroups: mandatory}}
	}
	return clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.All, All: &clusterv1alpha1.RolloutAll{RolloutConfig: config}}
}

// placement returns a Placement that selects some clusters, in up to three groups.
func (w *world) placement() Placement {
	p := Placement{Readable: true, Groups: make([]steps.Group, 3)}
	for _, cluster := range w.clusters {
		if group := w.below(4); group < 3 {
			p.Groups[group].Clusters = append(p.Groups[group].Clusters, cluster)
		}
	}
	for i := range p.Groups {
		p.Groups[i].Index = int32(i)
	}
	return p
}

func (w *world) count(what string, n int) { w.counts[what] += n }

func (w *world) logf(format string, args ...any) {
	now := w.now
	w.log = append(w.log, func() string { return now.Format("15:04:05 ") + fmt.Sprintf(format, args...) })
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	var lines []string
	for _, line := range w.log {
		lines = append(lines, line())
	}
	w.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(lines, "\n"))
}

// event changes the world.
func (w *world) event() {
	cluster := pick(w.chance, w.clusters...)
	switch w.below(25) {
	case 0, 1, 2:
		w.now = w.now.Add(time.Duration(1+w.below(40)) * time.Second)
	case 3:
		w.now = w.now.Add(time.Duration(w.below(12)) * time.Minute)
	case 4, 5, 6, 7:
		w.agent(cluster)
	case 8:
		w.hub.source = w.below(4)
		w.logf("source %d", w.hub.source)
	case 9:
		w.hub.broken = w.oneIn(3)
	case 10, 11:
		w.changePlacement(pick(w.chance, w.hub.set.Spec.PlacementRefs...).Name)
	case 12:
		w.hub.set.Spec.Paused = w.oneIn(3)
		w.hub.version++
		w.logf("paused %v", w.hub.set.Spec.Paused)
	case 13:
		if w.hub.set.DeletionTimestamp == nil {
			w.hub.disabled[cluster] = w.oneIn(3)
		}
		w.logf("disabled %s %v", cluster, w.hub.disabled[cluster])
	case 14:
		w.offline[cluster] = w.oneIn(2)
	case 15:
		w.failing[cluster] = pick(w.chance, "", "r1", "r2", "r3")
		w.logf("failing %s %q", cluster, w.failing[cluster])
	case 16:
		w.refusing[cluster] = w.oneIn(2)
		w.logf("refusing %s %v", cluster, w.refusing[cluster])
	case 17:
		w.hub.labels[cluster] = w.below(2)
		w.hub.unlabelled[cluster] = w.oneIn(3)
		w.logf("labels of %s", cluster)
	case 18:
		w.interfere(cluster)
	case 19:
		if held := w.hub.set.Status.HeldRemovals; held != nil && w.oneIn(2) {
			w.hub.set.Annotations[manifests.ReleaseAnnotation] = held.ID
			w.hub.version++
			w.logf("released %s", held.ID)
		}
	case 20:
		if w.oneIn(12) && w.hub.set.DeletionTimestamp == nil {
			deleted := metav1.NewTime(w.now)
			w.hub.set.DeletionTimestamp = &deleted
			w.hub.version++
			w.logf("set deleted")
		}
	case 21:
		key := cluster + "/" + pick(w.chance, "a", "b", "c")
		w.hub.claimed[key] = w.oneIn(2)
		w.logf("claimed %s %v", key, w.hub.claimed[key])
	default:
		w.pass(pick(w.chance, w.controllers...), true)
	}
}

func (w *world) changePlacement(name string) {
	before := w.hub.placements[name]
	switch w.below(6) {
	case 0:
		w.restore[name], w.hub.placements[name] = before, Placement{Gone: true}
	case 1:
		w.restore[name], w.hub.placements[name] = before, Placement{Problem: "the cache has not synced"}
	case 2:
		w.restore[name], w.hub.placements[name] = before, Placement{Readable: true}
	case 3, 4:
		if back, ok := w.restore[name]; ok {
			w.hub.placements[name] = back
		}
	default:
		w.hub.placements[name] = w.placement()
	}
	w.logf("placement %s %+v", name, w.hub.placements[name])
}

// interfere is a user who changes or deletes an object, or creates one of the same name.
func (w *world) interfere(cluster string) {
	name := pick(w.chance, "a", "b", "c")
	object, exists := w.hub.objects[cluster+"/"+name]
	switch w.below(3) {
	case 0:
		if exists && object.Owned(w.hub.set) {
			object.Content = "changed"
			w.store(object)
			w.logf("changed %s/%s", cluster, name)
		}
	case 1:
		delete(w.hub.objects, cluster+"/"+name)
		w.logf("deleted %s/%s", cluster, name)
	default:
		if !exists {
			w.store(Object{Cluster: cluster, Name: name, UID: w.uid(), Content: "foreign"})
			w.logf("foreign %s/%s", cluster, name)
		}
	}
}

func (w *world) uid() types.UID {
	w.serial++
	return types.UID(fmt.Sprint(w.serial))
}

func (w *world) store(object Object) Object {
	w.serial++
	object.ResourceVersion = fmt.Sprint(w.serial)
	w.hub.objects[object.Cluster+"/"+object.Name] = object
	return object
}

// agent lets a cluster's agent report, unless it is offline.
func (w *world) agent(cluster string) {
	if w.offline[cluster] {
		return
	}
	var entries []v1alpha1.MirroredConfigMap
	for _, name := range []string{"a", "b", "c"} {
		object, exists := w.hub.objects[cluster+"/"+name]
		if !exists || object.Revision == "" {
			continue
		}
		entry := v1alpha1.MirroredConfigMap{Name: name, Revision: object.Revision, State: v1alpha1.MirrorSynced, Since: metav1.NewTime(w.now)}
		if w.failing[cluster] == object.Revision {
			entry.State = v1alpha1.MirrorFailed
		}
		for _, before := range w.hub.reports[cluster] {
			if before.Name == name && before.Revision == entry.Revision && before.State == entry.State {
				entry.Since = before.Since
			}
		}
		entries = append(entries, entry)
	}
	w.hub.reports[cluster] = entries
}

// refresh brings some or all of a controller's caches up to date.
func (w *world) refresh(c *controller, all bool) {
	fresh := w.hub.clone()
	take := func() bool { return all || w.oneIn(2) }
	// Its own writes are in its caches always, so objects and revisions are stale only beside another
	// controller or user.
	if take() {
		c.view.objects = fresh.objects
	}
	if take() {
		c.view.revisions = fresh.revisions
	}
	if take() {
		c.view.set, c.view.version = fresh.set, fresh.version
	}
	if take() {
		c.view.source, c.view.broken = fresh.source, fresh.broken
	}
	if take() {
		c.view.placements, c.view.disabled = fresh.placements, fresh.disabled
	}
	if take() {
		c.view.reports = fresh.reports
	}
	if take() {
		c.view.labels, c.view.unlabelled, c.view.claimed = fresh.labels, fresh.unlabelled, fresh.claimed
	}
}

func (w *world) inputs(c *controller) Inputs {
	in := Inputs{Set: c.view.set.DeepCopy(), Placements: c.view.placements, Reports: c.view.reports, RemovalDelay: testDelay, Now: w.now,
		Enabled: func(cluster string) bool { return !c.view.disabled[cluster] }, Content: c.view.content,
		Claimed: func(cluster, name string) string {
			if c.view.claimed[cluster+"/"+name] {
				return "other/older"
			}
			return ""
		}}
	if c.view.broken {
		in.SourceProblem = "ConfigMap a does not exist"
	} else {
		in.Desired = fmt.Sprintf("r%d", c.view.source)
	}
	for name, number := range c.view.revisions {
		in.Revisions = append(in.Revisions, Revision{name, number})
	}
	for _, object := range c.view.objects {
		in.Objects = append(in.Objects, object)
	}
	for _, refusal := range c.refusals {
		in.Refusals = append(in.Refusals, refusal)
	}
	return in
}

// pass lets a controller plan and carry out the plan. It may be killed between any two writes.
func (w *world) pass(c *controller, chaos bool) Result {
	kill := -1
	if chaos && w.oneIn(4) {
		kill = w.below(6)
	}
	// A leader that has not seen for so long that the set is gone has lost its lease.
	released := w.hub.set.DeletionTimestamp != nil && len(w.hub.set.Finalizers) == 0
	w.refresh(c, !chaos || released)
	in := w.inputs(c)
	result := Plan(in)
	if again := Plan(w.inputs(c)); !reflect.DeepEqual(result, again) {
		w.fail("another result for the same inputs:\n%s", cmp.Diff(result, again))
	}
	w.count("plans", 1)
	w.count("writes", len(result.Writes))
	w.logf("pass %d: kill %d store %v writes %v", slices.Index(w.controllers, c), kill, result.StoreRevision, result.Writes)
	w.check(in, result)
	if !w.carryOut(c, result, kill) {
		w.logf("killed or refused")
		if kill >= 0 {
			w.count("kills", 1)
			*c = controller{view: w.hub.clone(), refusals: map[string]Refusal{}}
		}
		return result
	}
	for _, object := range w.stays {
		delete(w.leaving, object)
	}
	if len(w.controllers) == 1 {
		w.checkMix(in)
	}
	return result
}

// carryOut makes the writes of a plan. It reports whether all were made.
func (w *world) carryOut(c *controller, result Result, kill int) bool {
	left := kill
	dies := func() bool {
		left--
		return left == -1
	}
	if result.AddFinalizer || result.RemoveFinalizer {
		if result.RemoveFinalizer && !(maps.Equal(c.view.objects, w.hub.objects) && maps.Equal(c.view.disabled, w.hub.disabled)) {
			w.refresh(c, true)
			return false
		}
		if dies() || !w.update(c, func(set *v1alpha1.ConfigMapReplicaSet) {
			set.Finalizers = nil
			if result.AddFinalizer {
				set.Finalizers = []string{manifests.ReplicaSetFinalizer}
			}
		}) {
			return false
		}
		return true
	}
	if store := result.StoreRevision; store != nil {
		if dies() {
			return false
		}
		w.hub.revisions[store.Name], c.view.revisions[store.Name] = store.Number, store.Number
	}
	done, failed := true, ""
	for _, write := range result.Writes {
		if dies() {
			return false
		}
		if write.Cluster != failed && !w.write(c, write) {
			done, failed = false, write.Cluster
		}
	}
	for _, name := range result.DeleteRevisions {
		if dies() {
			return false
		}
		delete(w.hub.revisions, name)
		delete(c.view.revisions, name)
	}
	if dies() {
		return false
	}
	if !reflect.DeepEqual(c.view.set.Status, result.Status) {
		done = w.update(c, func(set *v1alpha1.ConfigMapReplicaSet) { set.Status = *result.Status.DeepCopy() }) && done
	}
	return done
}

// update writes the set, unless the controller's copy is stale.
func (w *world) update(c *controller, change func(*v1alpha1.ConfigMapReplicaSet)) bool {
	if c.view.version != w.hub.version {
		return false
	}
	change(w.hub.set)
	w.hub.version++
	c.view.set, c.view.version = w.hub.set.DeepCopy(), w.hub.version
	return true
}

// write makes one write as the API server does: with its preconditions.
func (w *world) write(c *controller, write Write) bool {
	key := write.Cluster + "/" + write.Name
	object, exists := w.hub.objects[key]
	removes := write.Action == Delete || write.Action == Release
	switch {
	case write.Action == Create && exists, write.Action != Create && (!exists || object.UID != write.UID || object.ResourceVersion != write.ResourceVersion):
		return false
	case w.refusing[write.Cluster]:
		id := fmt.Sprint(write.Cluster, removes)
		refusal := Refusal{Cluster: write.Cluster, Revision: write.Revision, Message: "forbidden", Since: w.now}
		if before, ok := c.refusals[id]; ok && before.Revision == refusal.Revision {
			refusal.Since = before.Since
		}
		c.refusals[id] = refusal
		w.count("refused writes", 1)
		return false
	case exists && !object.Owned(w.hub.set):
		w.fail("%v writes an object of another owner: %+v", write, object)
	}
	delete(c.refusals, fmt.Sprint(write.Cluster, removes))
	switch write.Action {
	case Delete:
		delete(w.hub.objects, key)
		delete(c.view.objects, key)
		return true
	case Release:
		object.ManagedBy, object.Set, object.SetUID, object.Revision, object.Since = "", "", "", "", time.Time{}
	case Create, Replace:
		object = Object{Cluster: write.Cluster, Name: write.Name, UID: w.uid(), Immutable: w.oneIn(3)}
		fallthrough
	default:
		object.ManagedBy, object.Set, object.SetUID = manifests.ManagedByReplicaSet, setKey, setUID
		if object.Immutable && object.Content != "" && object.Content != write.Content {
			w.fail("%v changes an immutable object", write)
		}
		object.Revision, object.Since, object.Content = write.Revision, write.Since, write.Content
	}
	c.view.objects[key] = w.store(object)
	return true
}
