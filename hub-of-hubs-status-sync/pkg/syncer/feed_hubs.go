package syncer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// longestHubPause is the longest time until it is asked again what a leaf hub
// reports, when that question has no answer again and again.
const longestHubPause = 5 * time.Minute

// hubs are the leaf hubs as the feed knows them.
type hubs struct {
	mu sync.Mutex
	// stale are those that are stale, with their last heartbeat, as of the last look.
	stale map[string]time.Time
	// doubted are the keys whose rows were read when that was not so, or not yet.
	doubted map[status.Key]bool

	begun bool
	// moved are those that became stale or came back, whose keys have yet to be
	// looked at; strain is of the questions for them that failed.
	moved  []string
	strain strain
}

// staleBy returns which leaf hubs are stale by the heartbeats that were read with an
// object's rows. A hub that was late, beat, and was seen well before and after by
// the feed would have the object say for long that it is stale: so an object whose
// rows were read when the feed knew otherwise is looked at again.
func (f *feed) staleBy(rows status.Object, heartbeats status.Heartbeats) map[string]time.Time {
	stale := staleHubs(heartbeats, f.staleAfter)
	f.hubs.mu.Lock()
	defer f.hubs.mu.Unlock()
	if speaksOf(rows, changedHubs(f.hubs.stale, stale)) {
		f.hubs.doubted[rows.Key] = true
	}
	return stale
}

// publish says which hubs are stale from now on, and returns what has to be looked
// at for it: all keys of the hubs that changed, and the keys that were doubted.
func (h *hubs) publish(stale map[string]time.Time) (changed []string, doubted map[status.Key]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	changed, doubted = changedHubs(h.stale, stale), h.doubted
	h.stale, h.doubted = stale, map[status.Key]bool{}
	return changed, doubted
}

// beat asks for the heartbeats.
func (f *feed) beat(ctx context.Context) error {
	ask, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	heartbeats, err := f.store.Heartbeats(ask)
	if err != nil {
		return fmt.Errorf("ask for the heartbeats: %w", err)
	}
	next := staleHubs(heartbeats, f.staleAfter)
	changed, doubted := f.hubs.publish(next)
	for hub := range heartbeats.Last {
		value := 0.0
		if _, stale := next[hub]; stale {
			value = 1
		}
		staleHub.WithLabelValues(hub).Set(value)
	}
	if !f.hubs.begun {
		f.hubs.begun = true
		close(f.ready)
		return nil // Every key is looked at after this anyway.
	}
	for _, hub := range changed {
		_, stale := next[hub]
		klog.FromContext(ctx).Info("Leaf hub changed", "leafHub", hub, "stale", stale)
		if !slices.Contains(f.hubs.moved, hub) {
			f.hubs.moved = append(f.hubs.moved, hub)
		}
	}
	for key := range doubted {
		f.add(key, time.Time{})
	}
	return nil
}

// lookAtHubs has the keys of leaf hubs looked at that became stale or came back, for
// about an interval: the rest is for the next look, so that what changed does not
// wait for them.
func (f *feed) lookAtHubs(ctx context.Context) error {
	if len(f.hubs.moved) > manyHubs {
		f.hubs.moved, f.sweep.wanted = nil, true
		return nil
	}
	begun := f.clock.Now()
	if begun.Before(f.hubs.strain.until()) {
		return nil
	}
	for len(f.hubs.moved) > 0 && f.clock.Since(begun) < f.interval {
		hub := f.hubs.moved[0]
		f.hubs.moved = f.hubs.moved[1:]
		if err := f.lookAtHub(ctx, hub); err != nil {
			f.hubs.moved = append(f.hubs.moved, hub)
			f.hubs.strain = f.hubs.strain.again(f.clock.Now(), f.interval, longestHubPause)
			return err
		}
		f.hubs.strain = strain{}
	}
	return nil
}

func (f *feed) lookAtHub(ctx context.Context, hub string) error {
	ask, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	keys, err := f.store.KeysOfHub(ask, hub)
	if err != nil {
		return fmt.Errorf("ask what leaf hub %s reports: %w", hub, err)
	}
	for _, key := range keys {
		f.add(key, time.Time{})
	}
	return nil
}
