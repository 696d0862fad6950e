package replicaset

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/plan"
)

// trust is how long a write counts that the cache does not show. It bounds the harm where versions go back,
// for example when the hub is restored from a backup.
const trust = 30 * time.Second

// recent are the writes to the ConfigMaps of one set that the cache may not show yet, so that a plan
// right after them does not plan them again.
type recent struct {
	mu     sync.Mutex
	writes map[string]*write // by CLUSTER/NAME
}

// write is the result of a write.
type write struct {
	at time.Time
	// gone is the UID of an object that was deleted or released, or empty, and version the one that it had.
	// Otherwise object is as it was written.
	gone    types.UID
	version string
	object  plan.Object
}

func newRecent() *recent { return &recent{writes: map[string]*write{}} }

func (r *recent) record(cluster, name string, w write) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes[cluster+"/"+name] = &w
}

// apply changes what the caches show of objects to what was written since, and forgets writes that the caches
// show. It returns when the first of the others no longer counts, or zero: an object may have been deleted
// again before the caches were read.
func (r *recent) apply(objects map[string]plan.Object, now time.Time) (recheck time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, w := range r.writes {
		cached, exists := objects[key]
		switch {
		case now.Sub(w.at) >= trust:
			delete(r.writes, key)
			continue
		case w.gone != "" && exists && cached.UID == w.gone && !older(w.version, cached.ResourceVersion):
			delete(objects, key)
		case w.gone != "" || exists && !older(cached.ResourceVersion, w.object.ResourceVersion):
			delete(r.writes, key)
			continue
		default:
			objects[key] = w.object
		}
		if end := w.at.Add(trust); recheck.IsZero() || end.Before(recheck) {
			recheck = end
		}
	}
	if len(r.writes) == 0 {
		r.writes = map[string]*write{} // a map does not shrink
	}
	return recheck
}

// older reports whether resourceVersion a is before b. Versions that cannot be compared are not.
func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
