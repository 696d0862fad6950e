//go:build postgres

package hubofhubs

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// history is what a reader of the global hub saw, event by event, beside what was
// true, change by change.
type history struct {
	*world
	truths []map[status.Key][]status.Desired
	// before are the resourceVersions of what was there at the beginning.
	before map[string]bool

	mu     sync.Mutex
	events map[status.Kind][]*unstructured.Unstructured
}

// watchHistory watches the objects of the known keys from now on.
func (w *world) watchHistory() *history {
	w.Helper()
	h := &history{world: w, before: map[string]bool{}, events: map[status.Kind][]*unstructured.Unstructured{}}
	watcher, err := client.NewWithWatch(hub, client.Options{})
	w.must(err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	var group sync.WaitGroup
	w.Cleanup(func() {
		cancel()
		group.Wait()
	})
	kinds := map[status.Kind]bool{}
	for _, key := range w.keys {
		if kinds[key.Kind] {
			continue
		}
		kinds[key.Kind] = true
		entry := entryOf(key.Kind)
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(entry.Object.GroupVersion().WithKind(entry.Object.Kind + "List"))
		where := client.InNamespace(w.namespace)
		if key.Kind == status.KindAddOnSummary {
			where = ""
		}
		w.must(watcher.List(w.Context(), list, where))
		for _, item := range list.Items {
			h.before[item.GetResourceVersion()] = true
		}
		stream, err := watcher.Watch(ctx, list, where)
		w.must(err)
		group.Go(func() { h.follow(ctx, key.Kind, stream) })
	}
	h.truth()
	return h
}

func (h *history) follow(ctx context.Context, kind status.Kind, stream watch.Interface) {
	defer stream.Stop()
	for {
		select {
		case event, open := <-stream.ResultChan():
			if !open {
				return
			}
			object, ok := event.Object.(*unstructured.Unstructured)
			if !ok || event.Type == watch.Deleted || h.before[object.GetResourceVersion()] {
				continue
			}
			h.mu.Lock()
			h.events[kind] = append(h.events[kind], object)
			h.mu.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

// truth records the desired status of now. The caller is the only writer of rows.
func (h *history) truth() {
	h.Helper()
	snapshot, err := h.store.Read(h.Context(), h.keys)
	h.must(err)
	now := map[status.Key][]status.Desired{}
	for _, rows := range snapshot.Objects {
		now[rows.Key], err = desired(rows, snapshot.Heartbeats)
		h.must(err)
	}
	h.truths = append(h.truths, now)
}

// check fails the test unless every event shows what was true at some time, and
// none what was true before what an earlier one showed. It returns how many events
// of each kind there were.
func (h *history) check() map[status.Kind]int {
	h.Helper()
	h.converge()
	h.eventually("the watch has seen the last write", h.seenLast)
	h.mu.Lock()
	defer h.mu.Unlock()
	count := map[status.Kind]int{}
	for _, key := range h.keys {
		at := map[string]int{}
		for _, object := range h.events[key.Kind] {
			if !isOf(key, object) {
				continue
			}
			if _, written := object.Object["status"]; entryOf(key.Kind).Subresource && !written {
				continue // It was just created, and says nothing yet.
			}
			name := object.GetName()
			next, problem := h.find(key, object, at[name])
			if next < 0 {
				earlier, _ := h.find(key, object, 0)
				h.Fatalf("%s %s shows what was true at change %d after what was true at change %d of %d (-1: never); since then:\n%v",
					key.Kind, name, earlier, at[name], len(h.truths)-1, problem)
			}
			at[name] = next
			count[key.Kind]++
		}
	}
	return count
}

// isOf reports whether an object is one of a key's.
func isOf(key status.Key, object *unstructured.Unstructured) bool {
	switch entry := entryOf(key.Kind); {
	case !entry.Creates:
		return string(object.GetUID()) == key.ID
	case entry.Owner.Empty():
		return object.GetName() == key.ID
	default:
		owners := object.GetOwnerReferences()
		return len(owners) == 1 && string(owners[0].UID) == key.ID
	}
}

// find returns the first truth from a place on that an object shows, or -1 and
// how it differs from the one at that place.
func (h *history) find(key status.Key, object *unstructured.Unstructured, from int) (int, error) {
	var problem error
	for i := from; i < len(h.truths); i++ {
		err := fmt.Errorf("there is no such object")
		for _, d := range h.truths[i][key] {
			if d.Name != object.GetName() {
				continue
			}
			// What has a status subresource is written by two requests.
			if err = compareFields(object, d); err == nil && entryOf(key.Kind).Creates && !entryOf(key.Kind).Subresource {
				err = compareNotes(object, d)
			}
		}
		if err == nil {
			return i, nil
		}
		if problem == nil {
			problem = err
		}
	}
	return -1, problem
}

// seenLast reports whether the watch is where the objects are.
func (h *history) seenLast() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for kind, events := range h.events {
		last := events[len(events)-1]
		now, err := h.get(entryOf(kind).Object, last.GetNamespace(), last.GetName())
		if err != nil {
			return err
		}
		if now.GetResourceVersion() != last.GetResourceVersion() {
			return fmt.Errorf("%s is at %s, seen is %s", kind, now.GetResourceVersion(), last.GetResourceVersion())
		}
	}
	return nil
}

// moment is a short pause of random length, for others to get in between.
func (c *changer) moment(longest time.Duration) {
	<-time.After(time.Duration(c.Int64N(int64(longest))))
}
