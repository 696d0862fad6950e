package mirror

import (
	"maps"
	"slices"
	"time"
)

// A hub that was restored from a backup, or whose storage is being restored, may
// answer with a list that lacks ConfigMaps which nobody deleted. Obeyed at once,
// such a list would remove the copies from every cluster. So deletions that only
// a list tells of are held for a while, when they are many.
//
// A deletion that a watch event tells of is never held: it was made while the
// agent was connected.
const (
	// brakeAbove is how many copies a list may remove without being held,
	// whatever their share: on a cluster with few copies, a person may well have
	// deleted most of them while the agent restarted.
	brakeAbove = 3
	// listSettles is how long the mirror waits before it counts what a list
	// lacks: client-go hands a long list on in parts. It is also how long a
	// watch event may lag behind the cache.
	listSettles = time.Second
)

// exceeds reports whether so many deletions at once are held: more than
// brakeAbove, and more than half of the copies.
func exceeds(missing, copies int) bool {
	return missing > brakeAbove && 2*missing > copies
}

// brake decides which deletions are carried out. The copy of a source that is
// missing is in one of three states: told (it is deleted), held, or neither,
// until judge decides.
type brake struct {
	// period is how long deletions are held; zero switches the brake off.
	period time.Duration

	told, held map[string]struct{}
	// until is when the held ones are released.
	until time.Time
	// suspended reports whether the mirror could not write since wait was last
	// called. A hold then begins anew, so that there is time to restore the sources.
	suspended bool
	// doubts are when the missing sources in neither state were first seen.
	doubts map[string]time.Time
}

func newBrake(period time.Duration) *brake {
	return &brake{period: period, told: map[string]struct{}{}, held: map[string]struct{}{},
		doubts: map[string]time.Time{}}
}

// tell records that the source was deleted for certain.
func (b *brake) tell(name string) {
	b.forget(name)
	b.told[name] = struct{}{}
}

// forget records that there is no copy without a source.
func (b *brake) forget(name string) {
	delete(b.held, name)
	delete(b.told, name)
	delete(b.doubts, name)
}

// release tells all that is held.
func (b *brake) release() {
	for name := range b.held {
		b.tell(name)
	}
}

// suspend records that the mirror may not write.
func (b *brake) suspend() { b.suspended = true }

// end returns when a hold that begins now ends: a whole second, which is what the
// condition shows.
func (b *brake) end(now time.Time) time.Time {
	return now.Add(b.period + time.Second - 1).Truncate(time.Second)
}

// wait returns how long the deletion of the copy has to wait, zero for not at
// all. It reports whether judge has to be called before.
func (b *brake) wait(name string, released bool, now time.Time) (wait time.Duration, judge bool) {
	if b.suspended {
		b.suspended = false
		b.until = b.end(now)
	}
	if b.period == 0 || released || len(b.held) > 0 && !now.Before(b.until) {
		b.release()
		b.tell(name)
	}
	if _, told := b.told[name]; told {
		return 0, false
	}
	if _, held := b.held[name]; held {
		return b.until.Sub(now), false
	}
	if _, seen := b.doubts[name]; !seen {
		b.doubts[name] = now
	}
	wait = max(0, listSettles-now.Sub(b.doubts[name]))
	return wait, wait == 0
}

// judge decides on all copies whose source is missing. Those that are not told
// are held where they are too many, or join those that are held. It reports
// whether a hold began.
func (b *brake) judge(missing []string, copies int, now time.Time) bool {
	clear(b.doubts)
	missing = slices.DeleteFunc(slices.Clone(missing), func(name string) bool { _, told := b.told[name]; return told })
	began := false
	if b.period > 0 && len(b.held) == 0 && exceeds(len(missing), copies) {
		began = true
		b.until = b.end(now)
	}
	hold := began || len(b.held) > 0
	for _, name := range missing {
		if hold {
			b.held[name] = struct{}{}
		} else {
			b.tell(name)
		}
	}
	return began
}

// sorted lists what is held, and until when.
func (b *brake) sorted() ([]string, time.Time) {
	return slices.Sorted(maps.Keys(b.held)), b.until
}
