package mirror

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Result says how a write went.
type Result string

const (
	// Success: it was carried out.
	Success Result = "success"
	// Stale: the cache was behind, and nothing was written; the name is
	// planned again.
	Stale Result = "stale"
	// Failed: the API server refused it, or did not answer.
	Failed Result = "error"
)

// Observer is told what a mirror does. Its methods are called from several
// goroutines and must not block.
type Observer interface {
	// Wrote is called after each write.
	Wrote(kind Kind, result Result)
	// Synced is called when a write has brought a name in sync, with the time
	// since its change on the hub was seen; zero where the change was on the
	// managed cluster.
	Synced(latency time.Duration)
	// NotInSync is called when a failure appears or changes. UID is that of
	// the ConfigMap on the hub, empty where there is none.
	NotInSync(failure Failure, uid types.UID)
}

// arrivals are the times at which changes on the hub were seen that are not
// worked on yet, by name.
type arrivals struct {
	mu    sync.Mutex
	times map[string]time.Time
}

// add notes a change; of several that wait, the first one counts.
func (a *arrivals) add(name string, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if before, ok := a.times[name]; ok && !at.Before(before) {
		return
	}
	if a.times == nil {
		a.times = map[string]time.Time{}
	}
	a.times[name] = at
}

// take removes and returns the time of a name, zero where there is none.
func (a *arrivals) take(name string) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := a.times[name]
	delete(a.times, name)
	if len(a.times) == 0 {
		// A map never shrinks by itself.
		a.times = nil
	}
	return at
}
