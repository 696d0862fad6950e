package mirror

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// A copy is contested when another writer undoes each repair of it. Without a
// pace the two would write as fast as the API server allows, for example
// hundreds of times a second where an operator injects a key into every
// ConfigMap.
const (
	// freeRepairs are made at once: a person who edits a copy is no contest.
	freeRepairs = 3
	// The first repair after them waits contestBase since the write before, the
	// next one twice as long, and so on up to contestMax.
	contestBase = time.Second
	contestMax  = time.Minute
	// minCalm is how long a write has to stand, at least, to end the contest. It
	// is not shorter than contestMax, so that a writer with a period of its own,
	// for example a controller that resyncs every 30 seconds, ends at one repair
	// a minute as well.
	minCalm = time.Minute
)

// wanted is what a copy has to be; the zero value stands for no copy.
type wanted struct {
	digest            Digest
	exists, immutable bool
}

func wantedOf(source *Source) wanted {
	if source == nil || source.OptedOut {
		return wanted{}
	}
	return wanted{digest: source.Digest, exists: true, immutable: source.Immutable}
}

// contest is the record of a name whose copy was repaired of late.
type contest struct {
	// wanted is what the last write was to bring about.
	wanted wanted
	// repairs is the number of writes in a row that only repaired the copy, none
	// of which stood for longer than calm. last is the time of the last write.
	repairs int
	last    time.Time
	// reason is empty until a repair has to wait.
	reason string
}

// delay is how long the next repair waits after the last write.
func (c contest) delay() time.Duration {
	if c.repairs < freeRepairs {
		return 0
	}
	delay := contestBase
	for range c.repairs - freeRepairs {
		if delay >= contestMax {
			break
		}
		delay *= 2
	}
	return min(delay, contestMax)
}

// calm is how long the last write has to stand to end the contest. It is longer
// than the delay, after which the next repair comes.
func (c contest) calm() time.Duration {
	return max(minCalm, 2*c.delay())
}

// contests are the records by name. A name has none as long as nobody but the
// mirror writes its copy.
type contests map[string]contest

// wait returns how long a write of name has to wait, zero for not at all. Only a
// repair waits: a change of the source is written at once.
func (c contests) wait(name string, want wanted, now time.Time) time.Duration {
	record, ok := c[name]
	if !ok || record.wanted != want {
		return 0
	}
	return max(0, record.delay()-now.Sub(record.last))
}

// repairs reports whether a write of name only puts back what another writer
// undid. Changed reports whether the source changed since the name was last
// looked at, which decides where there is no record.
func (c contests) repairs(name string, want wanted, changed bool) bool {
	if record, ok := c[name]; ok {
		return record.wanted == want
	}
	return !changed
}

// wrote records a write, or a repair that another writer was faster than.
func (c contests) wrote(name string, want wanted, changed bool, now time.Time) {
	record, ok := c[name]
	switch repair := c.repairs(name, want, changed); {
	case !repair && (!ok || !want.exists):
		delete(c, name)
		return
	case !repair:
		record.wanted = want
	case !ok || now.Sub(record.last) >= record.calm():
		record = contest{wanted: want, repairs: 1}
	default:
		record.repairs++
	}
	record.last = now
	c[name] = record
}

// rest is for a name that needs no write. It returns how long the name has to
// stay so until its contest has ended, zero when it has: then the record is gone.
func (c contests) rest(name string, want wanted, now time.Time) time.Duration {
	record, ok := c[name]
	if !ok {
		return 0
	}
	if rest := record.calm() - now.Sub(record.last); rest > 0 && record.wanted == want {
		return rest
	}
	delete(c, name)
	return 0
}

// explain keeps the reason of a repair that has to wait.
func (c contests) explain(name, reason string) {
	record := c[name]
	record.reason = reason
	c[name] = record
}

// contested reports whether a repair of the name had to wait already.
func (c contests) contested(name string) bool { return c[name].reason != "" }

// sorted lists the names that are contested.
func (c contests) sorted() []Failure {
	var list []Failure
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if c.contested(name) {
			list = append(list, Failure{Name: name, Kind: Contested, Reason: c[name].reason})
		}
	}
	return list
}

// contestReason says whose writes undo the mirror's, and what to do.
func (s Scope) contestReason(name, manager string) string {
	writer := "another writer"
	if manager != "" {
		writer = fmt.Sprintf("another writer (%s)", manager)
	}
	return fmt.Sprintf("%s keeps changing or deleting %s, which is put back at most once a second, and in the end once a minute: "+
		"stop that writer, or stop the copying: kubectl label configmap %s -n %s %s=%s (on the hub)",
		writer, s.onCluster(name), name, s.HubNamespace, manifests.SyncLabel, manifests.SyncDisabled)
}

// otherManager is the field manager that wrote an object last beside the mirror,
// empty where there is none.
func otherManager(fields []metav1.ManagedFieldsEntry) string {
	var last metav1.ManagedFieldsEntry
	for _, entry := range fields {
		if entry.Manager != manifests.ManagedByAgent && (last.Time == nil || entry.Time != nil && last.Time.Before(entry.Time)) {
			last = entry
		}
	}
	return last.Manager
}
