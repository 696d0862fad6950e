package replicaset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/plan"
)

const (
	// workers is how many sets are reconciled at the same time.
	workers = 4
	// settle is the time between a change and the plan. The reports of many clusters make one plan.
	settle = 500 * time.Millisecond
	// reconcileTimeout bounds one reconcile: 5,000 clusters are written in a fraction of it.
	reconcileTimeout = 10 * time.Minute
	// The back-off of a set whose reconcile fails.
	firstBackoff = 500 * time.Millisecond
	lastBackoff  = time.Minute
)

// Controller carries out ConfigMapReplicaSets.
type Controller struct {
	clients  *clients
	caches   *caches
	recorder record.EventRecorder
	metrics  *metrics
	clock    clock.WithTicker
	// removalDelay is how long removals from many clusters are held.
	removalDelay time.Duration
	queue        workqueue.TypedRateLimitingInterface[types.NamespacedName]

	mu     sync.Mutex
	states map[types.NamespacedName]*state
}

// state is what the controller remembers of a set. A restart may lose all of it.
type state struct {
	uid      types.UID
	contents contents
	recent   *recent
	refusals refusals
	// clusters are those that the set selects, or has objects on.
	clusters map[string]bool
}

func newController(c *clients, k *caches, recorder record.EventRecorder, now clock.WithTicker, removalDelay time.Duration) *Controller {
	return &Controller{
		clients: c, caches: k, recorder: recorder, metrics: newMetrics(), clock: now, removalDelay: removalDelay,
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstBackoff, lastBackoff),
			workqueue.TypedRateLimitingQueueConfig[types.NamespacedName]{Name: "replicaset", Clock: now}),
		states: map[types.NamespacedName]*state{},
	}
}

// Run carries out sets until ctx ends, and returns when its workers and caches have ended.
func (c *Controller) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	defer c.queue.ShutDown()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := c.watch(); err != nil {
		return err
	}
	for _, informer := range c.caches.all() {
		group.Go(func() { informer.RunWithContext(ctx) })
	}
	if err := c.caches.awaitSync(ctx, cacheTimeout); err != nil || ctx.Err() != nil {
		return err
	}
	klog.FromContext(ctx).Info("Started controller")
	for range workers {
		group.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	return nil
}

// watch queues the sets that an object concerns whenever it changes.
func (c *Controller) watch() error {
	k := c.caches
	for informer, concerned := range map[cache.SharedIndexInformer]func(metav1.Object) []types.NamespacedName{
		k.sets: c.ofSet, k.delivered: c.ofConfigMap, k.names: c.ofConfigMap, k.revisions: c.ofMarks,
		k.placements: c.ofPlacement, k.decisions: c.ofDecision,
		k.clusters: func(o metav1.Object) []types.NamespacedName { return c.ofCluster(o.GetName()) },
		k.addOns:   func(o metav1.Object) []types.NamespacedName { return c.ofCluster(o.GetNamespace()) },
	} {
		handle := func(object any) {
			if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = tombstone.Obj
			}
			accessor, err := meta.Accessor(object)
			if err != nil {
				return
			}
			for _, key := range concerned(accessor) {
				c.queue.AddAfter(key, settle)
			}
		}
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: handle, DeleteFunc: handle, UpdateFunc: func(before, now any) {
				if changed(before, now) {
					handle(before)
					handle(now)
				} else if set, ok := now.(*v1alpha1.ConfigMapReplicaSet); ok {
					c.queue.AddAfter(keyOf(set), settle)
				}
			}})
		if err != nil {
			return fmt.Errorf("add an event handler to a cache of the hub: %w", err)
		}
	}
	return c.watchMirrors()
}

// watchMirrors queues the sets whose revisions a changed entry of a ConfigMapMirror names. One cluster may report about
// 100 sets, and an agent writes whenever one of them changes.
func (c *Controller) watchMirrors() error {
	handle := func(object any) {
		if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = tombstone.Obj
		}
		if mirror, ok := object.(*mirrorObject); ok {
			for _, key := range c.ofMirror(mirror) {
				c.queue.AddAfter(key, settle)
			}
		}
	}
	_, err := c.caches.mirrors.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: handle, DeleteFunc: handle, UpdateFunc: func(before, now any) {
			former, ok := before.(*mirrorObject)
			if current, isMirror := now.(*mirrorObject); ok && isMirror {
				handle(former.without(current))
				handle(current.without(former))
			}
		}})
	if err != nil {
		return fmt.Errorf("add an event handler to the cache of ConfigMapMirrors: %w", err)
	}
	return nil
}

// ofMirror returns the sets that a ConfigMapMirror reports about.
func (c *Controller) ofMirror(mirror *mirrorObject) (keys []types.NamespacedName) {
	seen := map[string]bool{}
	for _, entry := range mirror.entries {
		name := entry.common.Value().revision
		if seen[name] {
			continue
		}
		seen[name] = true
		for _, revision := range list[*appsv1.ControllerRevision](c.caches.revisions, byRevision, name) {
			keys = append(keys, c.ofMarks(revision)...)
		}
	}
	return keys
}

// changed reports whether an update changed what the plans of sets read: a ManagedCluster, for example, is written
// whenever its capacity changes. Only the plan of a set itself reads its status.
func changed(before, now any) bool {
	switch before := before.(type) {
	case *clusterv1.ManagedCluster:
		return !equality.Semantic.DeepEqual(withVersionOf(before, now), before)
	case *v1alpha1.ConfigMapReplicaSet:
		now, ok := now.(*v1alpha1.ConfigMapReplicaSet)
		return !ok || now.Generation != before.Generation || now.UID != before.UID || !now.DeletionTimestamp.Equal(before.DeletionTimestamp) ||
			!equality.Semantic.DeepEqual(now.Finalizers, before.Finalizers) || !equality.Semantic.DeepEqual(now.Annotations, before.Annotations)
	}
	return true
}

// withVersionOf returns now with the resourceVersion of before.
func withVersionOf[T interface {
	metav1.Object
	DeepCopy() T
}](before T, now any) any {
	typed, ok := now.(T)
	if !ok {
		return now
	}
	same := typed.DeepCopy()
	same.SetResourceVersion(before.GetResourceVersion())
	return same
}

func keyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// ofSet returns the set and those that have a source of the same name: an older set claims it.
func (c *Controller) ofSet(o metav1.Object) []types.NamespacedName {
	keys := []types.NamespacedName{keyOf(o)}
	if set, ok := o.(*v1alpha1.ConfigMapReplicaSet); ok {
		for _, source := range set.Spec.ConfigMaps {
			keys = append(keys, c.ofSource(source.Name)...)
		}
	}
	return keys
}

func (c *Controller) ofSource(name string) (keys []types.NamespacedName) {
	for _, set := range list[*v1alpha1.ConfigMapReplicaSet](c.caches.sets, bySource, name) {
		keys = append(keys, keyOf(set))
	}
	return keys
}

// ofMarks returns the set whose UID an object carries.
func (c *Controller) ofMarks(o metav1.Object) (keys []types.NamespacedName) {
	for _, set := range list[*v1alpha1.ConfigMapReplicaSet](c.caches.sets, byUID, o.GetLabels()[manifests.ReplicaSetUIDLabel]) {
		keys = append(keys, keyOf(set))
	}
	return keys
}

// ofConfigMap returns the set that a ConfigMap belongs to, and those that have it as a source, or want its name on its
// cluster.
func (c *Controller) ofConfigMap(o metav1.Object) []types.NamespacedName {
	keys := c.ofMarks(o)
	for _, key := range c.ofSource(o.GetName()) {
		if key.Namespace == o.GetNamespace() || c.concerns(key, o.GetNamespace()) {
			keys = append(keys, key)
		}
	}
	return keys
}

// concerns reports whether a cluster concerned a set in its last plan.
func (c *Controller) concerns(key types.NamespacedName, cluster string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.states[key]
	return s != nil && s.clusters[cluster]
}

func (c *Controller) ofPlacement(o metav1.Object) (keys []types.NamespacedName) {
	for _, set := range list[*v1alpha1.ConfigMapReplicaSet](c.caches.sets, byPlacement, keyOf(o).String()) {
		keys = append(keys, c.ofSet(set)...)
	}
	return keys
}

func (c *Controller) ofDecision(o metav1.Object) []types.NamespacedName {
	return c.ofPlacement(&metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetLabels()[clusterv1beta1.PlacementLabel]})
}

// ofCluster returns the sets that a cluster concerned in their last plan.
func (c *Controller) ofCluster(name string) (keys []types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, s := range c.states {
		if s.clusters[name] {
			keys = append(keys, key)
		}
	}
	return keys
}

func (c *Controller) next(ctx context.Context) bool {
	key, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(key)
	if ctx.Err() != nil {
		return false // a queue that is shut down still returns what it has
	}
	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	after, err := c.reconcile(ctx, key)
	switch {
	case err == nil:
		c.queue.Forget(key)
		if after > 0 {
			c.queue.AddAfter(key, after)
		}
	case errors.Is(err, errStale):
		klog.FromContext(ctx).V(4).Info("Planning again", "set", key, "reason", err.Error())
		c.queue.AddRateLimited(key)
	default:
		utilruntime.HandleErrorWithContext(ctx, err, "Reconcile failed, retrying", "set", key)
		c.queue.AddRateLimited(key)
	}
	return true
}

// reconcile plans for a set and carries the plan out. It returns the time after which to plan again though
// nothing changed, or zero.
func (c *Controller) reconcile(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	set := get[*v1alpha1.ConfigMapReplicaSet](c.caches.sets, key.Namespace, key.Name)
	if set == nil {
		c.forget(key)
		return 0, nil
	}
	s := c.stateOf(set)
	if set.DeletionTimestamp == nil {
		if err := s.contents.refresh(ctx, c.caches, c.clients, set); err != nil {
			return 0, err
		}
	}
	in, recheck, err := c.gather(ctx, s, set)
	if err != nil {
		return 0, err
	}
	result := plan.Plan(in)
	c.metrics.clusters(set, result.Status.Summary)
	retry, err := c.execute(ctx, s, set, result)
	if err != nil {
		return 0, err
	}
	next := first(recheck, retry, result.Recheck)
	if next.IsZero() {
		return 0, nil
	}
	return max(time.Millisecond, next.Sub(c.clock.Now())), nil
}

// gather returns the inputs of a set's plan. recheck is when they change though no object does, or zero.
func (c *Controller) gather(ctx context.Context, s *state, set *v1alpha1.ConfigMapReplicaSet) (in plan.Inputs, recheck time.Time, err error) {
	now := c.clock.Now()
	placements, selected := c.caches.selection(set)
	// before the caches of clusters are read, so that no event is lost
	c.follow(s, selected)
	objects := c.caches.objects(set, selected)
	recheck = s.recent.apply(objects, now)
	concerned := maps.Clone(selected)
	for _, object := range objects {
		if object.Owned(set) {
			concerned[object.Cluster] = true
		}
	}
	c.follow(s, concerned)
	stored := c.caches.storedRevisions(set)
	if set.DeletionTimestamp == nil {
		if err := s.contents.load(ctx, c.clients, set, inUse(set, stored, objects)); err != nil {
			return in, recheck, err
		}
		s.contents.keep(stored, concerned)
	}
	return plan.Inputs{
		Set: set, Revisions: stored, Desired: s.contents.desired.name, SourceProblem: s.contents.desired.problem,
		Placements: placements, Enabled: c.caches.enabled, Objects: slices.Collect(maps.Values(objects)), Reports: c.caches.reports(selected, stored),
		Refusals: s.refusals.list(now), Claimed: c.caches.claims(set),
		Content:      func(cluster, revision string) plan.Content { return s.contents.of(c.caches.cluster(cluster), revision) },
		RemovalDelay: c.removalDelay, Now: now,
	}, recheck, nil
}

// stateOf returns what is remembered of a set. One that was deleted and created again is another.
func (c *Controller) stateOf(set *v1alpha1.ConfigMapReplicaSet) *state {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.states[keyOf(set)]
	if s == nil || s.uid != set.UID {
		s = &state{uid: set.UID, contents: contents{compiled: map[string]*compiled{}}, recent: newRecent(),
			refusals: refusals{byCluster: map[string]refused{}}}
		c.states[keyOf(set)] = s
	}
	return s
}

// first returns the earliest of the times that are not zero, or zero.
func first(times ...time.Time) (earliest time.Time) {
	for _, at := range times {
		if !at.IsZero() && (earliest.IsZero() || at.Before(earliest)) {
			earliest = at
		}
	}
	return earliest
}

// follow records which clusters concern a set.
func (c *Controller) follow(s *state, clusters map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.clusters = clusters
}

func (c *Controller) forget(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.states, key)
	c.metrics.forget(key)
}
