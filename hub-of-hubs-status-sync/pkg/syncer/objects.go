package syncer

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// objects are the metadata of all objects of a kind, as the watch has them, and
// what is known of their fields.
type objects struct {
	// changed is told each object that is not as it was known, and whether it
	// came or went: then nothing that is known of others says what to do.
	changed func(o object, cameOrWent bool)

	mu      sync.Mutex
	byUID   map[types.UID]object
	byOwner map[types.UID]map[types.UID]bool
	byName  map[types.NamespacedName]types.UID
	known   map[types.UID]knowledge
	notes   map[types.UID]string
}

// knowledge is the digest of the fields of an object at a resourceVersion.
type knowledge struct{ resourceVersion, digest string }

func newObjects(changed func(object, bool)) *objects {
	return &objects{
		changed: changed,
		byUID:   map[types.UID]object{},
		byOwner: map[types.UID]map[types.UID]bool{},
		byName:  map[types.NamespacedName]types.UID{},
		known:   map[types.UID]knowledge{},
		notes:   map[types.UID]string{},
	}
}

// handler is what the informer tells.
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

// replace is told when a list has another object of a name than the list before
// had: what happened in between nobody saw.
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
		o.forget(before)
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
		o.forget(gone)
		delete(o.known, gone.UID)
		delete(o.notes, gone.UID)
	}
	o.mu.Unlock()
	if had {
		o.changed(gone, true)
	}
}

// forget removes an object from the indexes. The caller holds the lock.
func (o *objects) forget(gone object) {
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
func (o *objects) get(uid types.UID) (object, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	found, ok := o.byUID[uid]
	return found, ok
}

// named returns the object with a name.
func (o *objects) named(namespace, name string) (object, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	found, ok := o.byUID[o.byName[types.NamespacedName{Namespace: namespace, Name: name}]]
	return found, ok
}

// all returns every object, in no order.
func (o *objects) all() []object {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Values(o.byUID))
}

// owned returns the objects of an owner, sorted by name.
func (o *objects) owned(owner types.UID) []object {
	o.mu.Lock()
	defer o.mu.Unlock()
	var result []object
	for uid := range o.byOwner[owner] {
		result = append(result, o.byUID[uid])
	}
	slices.SortFunc(result, func(a, b object) int { return slices.Compare([]string{a.Name}, []string{b.Name}) })
	return result
}

// digest is that of the fields of an object, if it is known at this
// resourceVersion.
func (o *objects) digest(of object) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if known := o.known[of.UID]; known.resourceVersion == of.ResourceVersion {
		return known.digest
	}
	return ""
}

// learn remembers the digest of an object's fields.
func (o *objects) learn(uid types.UID, resourceVersion, digest string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known[uid] = knowledge{resourceVersion, digest}
}

// noted remembers what there is to say of an object, and says whether it is new.
func (o *objects) noted(uid types.UID, note string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.notes[uid] == note {
		return false
	}
	o.notes[uid] = note
	return true
}

func objectOf(accessor metav1.Object) object {
	next := object{
		UID: accessor.GetUID(), ResourceVersion: accessor.GetResourceVersion(),
		Namespace: accessor.GetNamespace(), Name: accessor.GetName(),
		Labels: maps.Clone(accessor.GetLabels()), Annotations: map[string]string{},
		Deleting: accessor.GetDeletionTimestamp() != nil,
	}
	for _, key := range ownAnnotations {
		if value, found := accessor.GetAnnotations()[key]; found {
			next.Annotations[key] = value
		}
	}
	if owner := metav1.GetControllerOfNoCopy(accessor); owner != nil {
		next.Owner = owner.UID
	}
	return next
}
