// Package board keeps when something was first seen of each cluster. Watches write on it,
// and the steps of the benchmark wait for it.
package board

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Board holds times by event and cluster.
type Board struct {
	mu     sync.Mutex
	times  map[string]map[string]time.Time
	change chan struct{}
}

// New returns an empty board.
func New() *Board {
	return &Board{times: map[string]map[string]time.Time{}, change: make(chan struct{})}
}

// Mark records that an event of a cluster was seen at a time. Only the first time counts.
func (b *Board) Mark(event, cluster string, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.times[event] == nil {
		b.times[event] = map[string]time.Time{}
	}
	if _, seen := b.times[event][cluster]; seen {
		return
	}
	b.times[event][cluster] = at
	close(b.change)
	b.change = make(chan struct{})
}

// Forget removes an event, so that it can be seen again.
func (b *Board) Forget(event string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.times, event)
}

// Times returns when the clusters had the event.
func (b *Board) Times(event string) map[string]time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.times[event])
}

// Samples returns the durations from a moment until the clusters had the event. Clusters that
// did not have it are left out.
func (b *Board) Samples(event string, from time.Time, clusters []string) []time.Duration {
	times := b.Times(event)
	var samples []time.Duration
	for _, cluster := range clusters {
		if at, ok := times[cluster]; ok {
			samples = append(samples, at.Sub(from))
		}
	}
	return samples
}

// Last returns the last of the event's times of the clusters, and how many have one.
func (b *Board) Last(event string, clusters []string) (last time.Time, seen int) {
	times := b.Times(event)
	for _, cluster := range clusters {
		if at, ok := times[cluster]; ok {
			seen++
			if at.After(last) {
				last = at
			}
		}
	}
	return last, seen
}

// missing are the clusters without the event.
func (b *Board) missing(event string, clusters []string) ([]string, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(clusters), func(cluster string) bool {
		_, ok := b.times[event][cluster]
		return ok
	}), b.change
}

// Await waits until every cluster has had the event. Its error names the first clusters that
// have not.
func (b *Board) Await(ctx context.Context, event string, clusters []string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		missing, changed := b.missing(event, clusters)
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-changed:
			clusters = missing
		case <-ctx.Done():
			return fmt.Errorf("%s: %d clusters are missing after %s, the first ones are %s", event, len(missing), limit,
				strings.Join(missing[:min(3, len(missing))], ", "))
		}
		// many clusters often follow each other closely
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}
