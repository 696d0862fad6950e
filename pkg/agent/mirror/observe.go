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
	// managed cluster, or where the write waited on purpose.
	Synced(latency time.Duration)
	// NotInSync is called when a failure appears or changes. UID is that of
	// the ConfigMap on the hub, empty where there is none.
	NotInSync(failure Failure, uid types.UID)
}

// arrival is a change on the hub that is not worked on yet. The zero value stands
// for none.
type arrival struct {
	changed bool
	// at is when the change was seen. It is zero for a change whose write waits on
	// purpose, because its deletion is held or its copy is contested: such a wait is
	// no latency.
	at time.Time
}

// arrivals are the changes by name.
type arrivals struct {
	mu     sync.Mutex
	byName map[string]arrival
}

// add adds a change, or puts one back; of several that wait, the first time counts.
func (a *arrivals) add(name string, change arrival) {
	if !change.changed {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if before := a.byName[name].at; !before.IsZero() && (change.at.IsZero() || before.Before(change.at)) {
		return
	}
	if a.byName == nil {
		a.byName = map[string]arrival{}
	}
	a.byName[name] = change
}

// take removes and returns the change of a name.
func (a *arrivals) take(name string) arrival {
	a.mu.Lock()
	defer a.mu.Unlock()
	change := a.byName[name]
	delete(a.byName, name)
	if len(a.byName) == 0 {
		// A map never shrinks by itself.
		a.byName = nil
	}
	return change
}
