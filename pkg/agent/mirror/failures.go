package mirror

import (
	"maps"
	"slices"
)

// Failure is one name that is not in sync and will not be by itself: a
// conflict, a copy that somebody keeps from being deleted, or a write that the
// API server refused.
type Failure struct {
	Name string
	// Kind is Conflict, Wait, Contested, or the kind of the write that failed.
	Kind   Kind
	Reason string

	blame blame
}

// Contested is the Kind of a Failure of a copy that another writer keeps
// changing back. It is never planned.
const Contested Kind = "Contested"

// change is what recording an outcome did to the list of failures.
type change int

const (
	unchanged change = iota
	appeared
	cleared
)

// failures are the names that are not in sync, by name.
type failures map[string]Failure

// record takes up the outcome of an action that was carried out.
func (f failures) record(action Action, err error) change {
	before, failed := f[action.Name]
	now := Failure{Name: action.Name, Kind: action.Kind, Reason: action.Reason}
	switch {
	case err != nil:
		now.Reason, now.blame = err.Error(), blameFor(err)
	case action.Kind != Conflict && action.Kind != Wait:
		delete(f, action.Name)
		if failed {
			return cleared
		}
		return unchanged
	}
	f[action.Name] = now
	if before == now {
		return unchanged
	}
	return appeared
}

// retried returns up to n names whose write failed, no matter which.
func (f failures) retried(n int) []string {
	var names []string
	for name, failure := range f {
		if len(names) == n {
			break
		}
		if failure.Kind.Writes() {
			names = append(names, name)
		}
	}
	return names
}

func (f failures) sorted() []Failure {
	list := make([]Failure, 0, len(f))
	for _, name := range slices.Sorted(maps.Keys(f)) {
		list = append(list, f[name])
	}
	return list
}
