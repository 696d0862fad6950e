package syncer

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer/plan"
)

// objects is an index of all objects of a kind, as the watch has them, with what
// the syncer knows of their fields.
type objects struct {
	// changed is called for each object that changed, unless the change is a write
	// of this syncer. cameOrWent is true if the object was added or deleted.
	changed func(o plan.Object, cameOrWent bool)
	// complete is set when the watch has reported every object once.
	complete atomic.Bool

	mu      sync.Mutex
	byUID   map[types.UID]plan.Object
	byOwner map[types.UID]map[types.UID]bool
	byName  map[types.NamespacedName]types.UID
	known   map[types.UID]knowledge
	notes   map[types.UID]string
}

// knowledge is the digest of an object's fields at a resourceVersion.
type knowledge struct{ resourceVersion, digest string }

func newObjects(changed func(plan.Object, bool)) *objects {
	return &objects{
		changed: changed,
		byUID:   map[types.UID]plan.Object{},
		byOwner: map[types.UID]map[types.UID]bool{},
		byName:  map[types.NamespacedName]types.UID{},
		known:   map[types.UID]knowledge{},
		notes:   map[types.UID]string{},
	}
}

// handler returns the informer's event handler that keeps the index up to date.
func (o *objects) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { o.set(obj) },
		UpdateFunc: func(before, obj any) { o.replace(before, obj) },
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			o.unset(obj)
		},
	}
}

// replace handles an update. After an interrupted watch the informer also reports
// as an update that an object was deleted and another one of its name was created
// between two lists.
func (o *objects) replace(before, obj any) {
	was, err := meta.Accessor(before)
	is, isErr := meta.Accessor(obj)
	if err == nil && isErr == nil && was.GetUID() != is.GetUID() {
		o.unset(before)
	}
	o.set(obj)
}

func (o *objects) set(obj any) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	next := objectOf(accessor)
	o.mu.Lock()
	before, had := o.byUID[next.UID]
	if had {
		o.removeFromIndexes(before)
	}
	o.byUID[next.UID] = next
	o.byName[types.NamespacedName{Namespace: next.Namespace, Name: next.Name}] = next.UID
	if next.Owner != "" {
		if o.byOwner[next.Owner] == nil {
			o.byOwner[next.Owner] = map[types.UID]bool{}
		}
		o.byOwner[next.Owner][next.UID] = true
	}
	own := o.known[next.UID].resourceVersion == next.ResourceVersion
	o.mu.Unlock()
	if !own {
		o.changed(next, !had)
	}
}

func (o *objects) unset(obj any) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	o.mu.Lock()
	gone, had := o.byUID[accessor.GetUID()]
	if had {
		o.removeFromIndexes(gone)
		delete(o.known, gone.UID)
		delete(o.notes, gone.UID)
	}
	o.mu.Unlock()
	if had {
		o.changed(gone, true)
	}
}

// removeFromIndexes requires the lock.
func (o *objects) removeFromIndexes(gone plan.Object) {
	delete(o.byUID, gone.UID)
	name := types.NamespacedName{Namespace: gone.Namespace, Name: gone.Name}
	if o.byName[name] == gone.UID {
		delete(o.byName, name)
	}
	if delete(o.byOwner[gone.Owner], gone.UID); len(o.byOwner[gone.Owner]) == 0 {
		delete(o.byOwner, gone.Owner)
	}
}

// get returns the object with a uid.
func (o *objects) get(uid types.UID) (plan.Object, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	found, ok := o.byUID[uid]
	return found, ok
}

// named returns the object with a name.
func (o *objects) named(namespace, name string) (plan.Object, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	found, ok := o.byUID[o.byName[types.NamespacedName{Namespace: namespace, Name: name}]]
	return found, ok
}

// all returns every object, in no order.
func (o *objects) all() []plan.Object {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Values(o.byUID))
}

// owned returns the objects of an owner, sorted by name.
func (o *objects) owned(owner types.UID) []plan.Object {
	o.mu.Lock()
	defer o.mu.Unlock()
	var result []plan.Object
	for uid := range o.byOwner[owner] {
		result = append(result, o.byUID[uid])
	}
	slices.SortFunc(result, func(a, b plan.Object) int { return cmp.Compare(a.Name, b.Name) })
	return result
}

// digest returns the digest of an object's fields, or "" if it is not known at the
// object's resourceVersion.
func (o *objects) digest(of plan.Object) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if known := o.known[of.UID]; known.resourceVersion == of.ResourceVersion {
		return known.digest
	}
	return ""
}

// learn records the digest of an object's fields at a resourceVersion.
func (o *objects) learn(uid types.UID, resourceVersion, digest string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known[uid] = knowledge{resourceVersion, digest}
}

// setNote records the note of an object, and reports whether it changed.
func (o *objects) setNote(uid types.UID, note string) (changed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.notes[uid] == note {
		return false
	}
	o.notes[uid] = note
	return true
}

func objectOf(accessor metav1.Object) plan.Object {
	next := plan.Object{
		UID: accessor.GetUID(), ResourceVersion: accessor.GetResourceVersion(),
		Namespace: accessor.GetNamespace(), Name: accessor.GetName(),
		Labels: maps.Clone(accessor.GetLabels()), Annotations: map[string]string{},
		Deleting: accessor.GetDeletionTimestamp() != nil,
	}
	for _, key := range plan.OwnAnnotations {
		if value, found := accessor.GetAnnotations()[key]; found {
			next.Annotations[key] = value
		}
	}
	if owner := metav1.GetControllerOfNoCopy(accessor); owner != nil {
		next.Owner = owner.UID
	}
	return next
}
