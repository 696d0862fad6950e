package memapi

import (
	"sort"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// How long a watch can start at an old resource version: the API keeps at most
// historyEvents events per kind, of the last historyTime.
const (
	historyEvents = 256
	historyTime   = time.Minute
)

// name is the namespace and name of an object. The namespace of cluster-scoped objects
// is empty.
type name = types.NamespacedName

// entry is one stored object. It is never changed: a write replaces it.
type entry struct {
	data        []byte // the object as JSON, with its resource version
	revision    uint64 // its resource version
	version     string // the API version in which data is, for example v1
	stored      int64  // when, in seconds of Unix time
	uid         types.UID
	owners      []types.UID // of metadata.ownerReferences
	terminating bool        // has a deletionTimestamp
}

// event is a change of one object. The events of a table are a linked list: a watch
// holds the event that it sent last, so the list is freed as the watches proceed.
type event struct {
	version uint64 // the resource version
	number  uint64 // counts the table's events
	time    time.Time
	what    watch.EventType
	name    name
	now     *entry // after the change; the last state of a deleted object
	before  *entry // nil for a created object
	next    *event
	ready   chan struct{} // closed when next is set; nil while no watch waits
}

// table has the objects of one resource.
type table struct {
	objects map[name]*entry
	// A watch can start at the version of first or later.
	first, last *event
}

// table returns the table of a resource and makes it if needed. The caller holds a.mu.
func (a *API) table(resource schema.GroupResource) *table {
	t := a.tables[resource]
	if t == nil {
		start := &event{version: a.start}
		t = &table{objects: map[name]*entry{}, first: start, last: start}
		a.tables[resource] = t
	}
	return t
}

// names returns the names of t's objects in namespace, or of all if it is empty, in order.
func (t *table) names(namespace string) []name {
	var found []name
	for n := range t.objects {
		if namespace == "" || n.Namespace == namespace {
			found = append(found, n)
		}
	}
	sort.Slice(found, func(i, j int) bool {
		if found[i].Namespace != found[j].Namespace {
			return found[i].Namespace < found[j].Namespace
		}
		return strings.Compare(found[i].Name, found[j].Name) < 0
	})
	return found
}

// append adds e at the end of the events, wakes the watches and forgets old events.
func (t *table) append(e *event) {
	e.number = t.last.number + 1
	t.last.next = e
	if t.last.ready != nil {
		close(t.last.ready)
		t.last.ready = nil
	}
	t.last = e
	for t.first.next != e && (e.number-t.first.number > historyEvents || e.time.Sub(t.first.next.time) > historyTime) {
		t.first = t.first.next
	}
}

// at returns the last event up to version, and false if later events are forgotten.
func (t *table) at(version uint64) (*event, bool) {
	if version < t.first.version {
		return nil, false
	}
	e := t.first
	for e.next != nil && e.next.version <= version {
		e = e.next
	}
	return e, true
}

// put stores obj as the next version of an object and returns its entry. The caller
// holds a.mu. A change that is none is not stored.
func (a *API) put(k *kind, obj *unstructured.Unstructured) (*entry, error) {
	t, n := a.table(k.GroupResource()), nameOf(obj)
	before := t.objects[n]
	if before != nil {
		same, err := unchanged(before, obj)
		if err != nil || same {
			return before, err
		}
	}
	now, err := newEntry(obj, a.version+1)
	if err != nil {
		return nil, err
	}
	what := watch.Modified
	if before == nil {
		what = watch.Added
	}
	now.stored = a.server.clock.Now().Unix()
	t.objects[n] = now
	a.record(k, &event{what: what, name: n, now: now, before: before})
	return now, nil
}

// remove deletes an object. The caller holds a.mu.
func (a *API) remove(k *kind, n name, obj *unstructured.Unstructured) (*entry, error) {
	t := a.table(k.GroupResource())
	before := t.objects[n]
	now, err := newEntry(obj, a.version+1)
	if err != nil {
		return nil, err
	}
	delete(t.objects, n)
	a.record(k, &event{what: watch.Deleted, name: n, now: now, before: before})
	return now, nil
}

// record publishes an event with the next resource version.
func (a *API) record(k *kind, e *event) {
	a.version++
	e.version, e.time = a.version, a.server.clock.Now()
	a.table(k.GroupResource()).append(e)
	a.server.publish(a.name, k, e)
	a.changed(k, e)
}
